/// A reference for callbacks that are created before their owner, which clears it when it is closed. Unlike a
/// ``WeakBox``, it leaves the owner without a side table, which would make each retain of it slow.
package final class OwnerBox<Object: AnyObject> {
    package var value: Object?
    package init() {}
}

/// A weak reference for a callback that is created before its owner.
package final class WeakBox<Object: AnyObject> {
    package weak var value: Object?
    package init(_ value: Object? = nil) { self.value = value }
}

/// Lets a callback that is made before its owner hold it.
package final class WeakBox<Object: AnyObject> {
    package weak var value: Object?
    package init(_ value: Object? = nil) { self.value = value }
}

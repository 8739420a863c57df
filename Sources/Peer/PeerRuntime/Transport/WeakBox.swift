/// Lets a callback that is made before its owner hold it.
final class WeakBox<Object: AnyObject> {
    weak var value: Object?
    init(_ value: Object? = nil) { self.value = value }
}

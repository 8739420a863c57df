/// Carries a value of the loop through `perform`, which is called on the loop and runs there.
struct LoopBound<Value>: @unchecked Sendable {
    // SAFETY: made on the loop, opened on the loop.
    let value: Value
    init(_ value: Value) { self.value = value }
}

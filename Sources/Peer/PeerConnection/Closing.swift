/// Closes all items, and calls back when the last one is closed; at once if there are none.
package func closeAll<Closed>(
    _ all: some Collection<Closed>, with close: (Closed, @escaping () -> Void) -> Void, then done: @escaping () -> Void
) {
    var open = all.count
    guard open > 0 else { return done() }
    for one in all {
        close(one) {
            open -= 1
            if open == 0 { done() }
        }
    }
}

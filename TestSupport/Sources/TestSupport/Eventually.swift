import Glibc

/// Looks again and again at what no event announces, for a limited time.
/// - Returns: whether the condition came true.
public func eventually(for limit: Duration = .seconds(30), _ isSo: () throws -> Bool) rethrows -> Bool {
    let deadline = ContinuousClock.now + limit
    while true {
        if try isSo() { return true }
        guard ContinuousClock.now < deadline else { return false }
        usleep(20_000)
    }
}

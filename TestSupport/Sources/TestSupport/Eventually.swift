import Glibc

/// Looks again and again at what no event announces, for 30 s at most.
/// - Returns: whether the condition came true.
public func eventually(_ isSo: () throws -> Bool) rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(30)
    while true {
        if try isSo() { return true }
        guard ContinuousClock.now < deadline else { return false }
        usleep(20_000)
    }
}

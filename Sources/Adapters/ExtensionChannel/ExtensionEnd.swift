/// Why the program of an extension has ended.
public enum ExtensionEnd: Equatable, Sendable {
    /// The host asked for the end.
    case finished
    /// The program ended the broadcast, with a reason and a next step for the user.
    case reported(reason: String, nextStep: String?)
    /// It cannot be started (an errno).
    case notStarted(Int32)
    /// Others than root and this user could replace it; a sentence says where.
    case untrusted(String)
    /// It ended without a reason: its exit code, or the signal.
    case exited(code: Int32)
    case crashed(signal: Int32)
    /// It did not answer `start`, or speaks another version.
    case noAnswer
    case otherVersion(Int)
    /// It has closed the connection without ending.
    case disconnected
    /// It takes no samples any more.
    case unresponsive
    /// Its private memory in bytes, and what it may use.
    case overMemoryBudget(used: Int, budget: Int)
    /// It sent a message that is none, or far too many.
    case malformed
    case flooding
    /// A setup program: the user does not want to broadcast.
    case cancelled
}

/// Why a control socket cannot be opened or reached.
public struct ControlSocketFailure: Error, Equatable, Sendable {
    public enum Code: Equatable, Sendable {
        /// The folder cannot be made, or belongs to somebody else.
        case folder
        /// The system refuses the socket.
        case socket
        /// Nobody listens at the path.
        case notListening
        /// The process at the other end is another user's.
        case otherUser
        /// The other end did not answer in time, or hung up.
        case noAnswer
        /// The other end sent more than is accepted.
        case tooLong
    }
    public var code: Code
    /// A sentence for people, without a full stop.
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

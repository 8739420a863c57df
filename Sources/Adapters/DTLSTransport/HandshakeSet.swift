internal import MediaCore

/// The handshakes of one session, of which the first whose certificate verifies becomes its association. Until then
/// anybody can forge what a handshake reads, so none that fails ends the session.
protocol HandshakeSet: AnyObject {
    /// Why a handshake has failed; nil: none has.
    var failure: DTLSFailure? { get }
    /// When to call `handleTimeout`; nil for never.
    var deadline: MediaInstant? { get }

    func start() -> HandshakeProgress
    func handle(_ datagram: UnsafeRawBufferPointer) -> HandshakeProgress
    func handleTimeout() -> HandshakeProgress
    /// The datagrams to send, without those of a complete handshake.
    func takeOutgoing() -> [[UInt8]]
}

enum HandshakeProgress {
    case waiting
    case complete(DTLSHandshake)
    /// The session is over.
    case failed(DTLSFailure)
}

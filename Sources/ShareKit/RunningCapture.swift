/// A capture of one recorder, whatever becomes of its samples.
protocol RunningCapture: AnyObject, Sendable {
    var microphone: MicrophoneInput { get }
    /// It takes no further samples.
    var isEnded: Bool { get }
    /// Why it has ended by itself.
    var failure: ShareKitError? { get }
    /// Takes no further samples. What was captured before stays, unless it is discarded.
    func end(_ failure: ShareKitError?, isDiscarding: Bool)
    /// Ends, as nobody has a reference to its recorder any more. A file stays.
    func abandon()
    /// Returns when all threads have ended.
    func ended() async
}

/// The errors that offers and answers have in common.
protocol RemoteDescriptionError: Error {
    static var notSDP: Self { get }
    static var tooLarge: Self { get }
    static var noCredentials: Self { get }
    static var noFingerprint: Self { get }
    static var severalCertificates: Self { get }
    static var noDTLSRole: Self { get }
}

extension RemoteDescriptionError {
    init(_ error: TransportError) {
        self =
            switch error {
            case .noCredentials: .noCredentials
            case .noFingerprint: .noFingerprint
            case .severalCertificates: .severalCertificates
            case .noDTLSRole: .noDTLSRole
            }
    }
}

extension SessionDescription {
    /// Parses the text of an offer or an answer.
    /// - Throws: `.tooLarge`, or `.notSDP` for any other parse error.
    static func parse<Failure: RemoteDescriptionError>(
        _ text: String, failure: Failure.Type
    ) throws(Failure) -> SessionDescription {
        do throws(SDPError) {
            return try parse(text)
        } catch {
            throw error == .tooLarge ? .tooLarge : .notSDP
        }
    }
}

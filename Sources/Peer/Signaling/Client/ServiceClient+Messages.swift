public import Admission
public import HTTP
import Identifiers
public import MediaCore
import NIOHTTP1

extension ServiceClient {
    private static let timeout = Duration.seconds(5)

    /// Has the broadcast listed in the relay's directory. It is taken out when the broadcast ends.
    /// - Throws: `.gone` if the relay has no directory; `.timedOut` after 5 s without a response.
    public func list(_ listing: Listing) async throws(SignalingError) {
        try done(await send(ListingDocument(listing), .PUT, path("/listing"), timeout: Self.timeout))
    }

    /// Says which application the broadcast shows now.
    /// - Throws: `.gone` if there is no broadcast, or the service is not told of applications; `.timedOut` after 5 s.
    public func tell(application: ApplicationInfo) async throws(SignalingError) {
        try done(await send(application, .PUT, path("/application"), timeout: Self.timeout))
    }

    /// Says that the broadcast is held back, or goes on (nil), so that a relay's viewers are told.
    /// - Throws: `.gone` if there is no broadcast, or the service takes no pauses; `.timedOut` after 5 s.
    public func tell(hold: BroadcastHold?) async throws(SignalingError) {
        guard let hold else { return try done(await http.ask(.DELETE, path("/pause"), timeout: Self.timeout)) }
        try done(await send(HoldDocument(hold), .PUT, path("/pause"), timeout: Self.timeout))
    }

    /// Has a relay tell its viewers that those whom this host has sent there go back to it.
    /// - Throws: `.gone` if there is no broadcast, or the service is no relay that does this; `.timedOut` after 5 s.
    public func returnViewers() async throws(SignalingError) {
        try done(await http.ask(.PUT, path("/return"), timeout: Self.timeout))
    }

    /// Has a relay pass keys on to its viewers, with one request for 300 of them.
    /// - Throws: `.gone` if there is no broadcast, or the service passes none on; `.timedOut` after 5 s.
    public func pass(_ keys: [MemberKeys]) async throws(SignalingError) {
        for start in stride(from: 0, to: keys.count, by: MemberKeysDocument.countLimit) {
            let part = keys[start..<min(start + MemberKeysDocument.countLimit, keys.count)]
            try done(await send(MemberKeysDocument(part), .PUT, path("/keys"), timeout: Self.timeout))
        }
    }

    /// Has a relay pass on to its viewers what is encrypted for them.
    /// - Throws: `.gone` if there is no broadcast, or the service passes nothing on; `.timedOut` after 5 s.
    public func pass(_ messages: SealedMessages) async throws(SignalingError) {
        try done(await send(SealedMessagesDocument(messages), .PUT, path("/messages"), timeout: Self.timeout))
    }

    /// Has a relay end the sessions of a viewer, whom the host's user has removed.
    /// - Parameter viewer: SHA-256 of its certificate.
    /// - Throws: `.gone` if the relay has no such viewer, or removes none; `.timedOut` after 5 s.
    public func remove(viewer: [UInt8]) async throws(SignalingError) {
        try done(
            await http.ask(.DELETE, path("/members/\(Base64URL.encode(viewer))"), timeout: Self.timeout))
    }

    private func done(_ answer: HTTPAnswer) throws(SignalingError) {
        guard answer.status == 204 else { throw http.failure(answer) }
    }

    /// Reads a relay's directory, without a pairing.
    /// - Parameter application: only broadcasts of this application.
    /// - Returns: the broadcasts with the most viewers first, and how many there are in all. Nothing of it is verified.
    /// - Throws: `.gone` if the relay has no directory.
    public func broadcasts(
        of application: String? = nil
    ) async throws(SignalingError) -> (entries: [DirectoryEntry], total: Int) {
        var path = "/broadcasts"
        if let application { path += "?app=" + Self.escaped(application) }
        let answer = try await http.ask(.GET, path)
        guard answer.status == 200 else { throw http.failure(answer) }
        guard let document = answer.document(DirectoryDocument.self) else {
            throw .notAShareHost(http.server, "its directory is not readable")
        }
        return (document.broadcasts, document.total)
    }

    /// RFC 3986 section 2.1.
    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}

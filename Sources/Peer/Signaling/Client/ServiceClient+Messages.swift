import Admission
public import HTTP
import Identifiers
import MediaCore
import NIOHTTP1

extension ServiceClient {
    private static let timeout = Duration.seconds(5)

    /// Has the broadcast listed in the relay's directory. It is taken out when the broadcast ends.
    /// - Throws: `.gone` if the relay has no directory; `.timedOut` after 5 s without a response.
    public func list(_ listing: Listing) async throws(SignalingError) {
        try await put(ListingDocument(listing), "/listing")
    }

    /// Tells the service something of the broadcast, with one request for 300 keys.
    /// - Throws: `.gone` if there is no broadcast or no such viewer, or the service takes no such message; `.timedOut`
    ///   after 5 s.
    public func send(_ message: PublisherMessage) async throws(SignalingError) {
        switch message {
        case .application(let application): try await put(application, "/application")
        case .hold(let hold?): try await put(HoldDocument(hold), "/pause")
        case .hold(nil): try done(await http.ask(.DELETE, path("/pause"), timeout: Self.timeout))
        case .returnViewers: try done(await http.ask(.PUT, path("/return"), timeout: Self.timeout))
        case .keys(let keys):
            for start in stride(from: 0, to: keys.count, by: MemberKeysDocument.countLimit) {
                let part = keys[start..<min(start + MemberKeysDocument.countLimit, keys.count)]
                try await put(MemberKeysDocument(part), "/keys")
            }
        case .sealed(let messages): try await put(messages, "/messages")
        case .removal(let viewer):
            try done(await http.ask(.DELETE, path("/members/\(Base64URL.encode(viewer))"), timeout: Self.timeout))
        case .decision(let decision, let knock):
            try await put(ViewerDecisionDocument(decision), "/viewers/\(knock.text)")
        }
    }

    private func put(_ document: some Encodable & Sendable, _ item: String) async throws(SignalingError) {
        try done(await send(document, .PUT, path(item), timeout: Self.timeout))
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

import Admission
import Extensions
import FoundationEssentials
import Identifiers
import Identity
import MediaCore

@testable import HTTP
@testable import Signaling

private func read<Document: Decodable>(_ type: Document.Type, _ bytes: UnsafeRawBufferPointer) -> Document? {
    try? JSONDecoder().decode(type, from: Data(bytes))
}

/// Returns what is read from a document that was written.
private func again<Document: Codable>(_ document: Document) -> Document {
    guard let data = try? JSONEncoder().encode(document),
        let found = try? JSONDecoder().decode(Document.self, from: data)
    else { fatalError("a document that was written cannot be read: \(document)") }
    return found
}

/// Whether a person can be shown the text: no control characters, and nothing that changes the direction of the rest.
private func isPlain(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x202A...0x202E, 0x2066...0x2069: false
        default: true
        }
    }
}

private func check(_ service: ServiceDescription) {
    require(again(service) == service, "a description that was written")
    require((1...64).contains(service.name.unicodeScalars.count) && isPlain(service.name), "the name of a service")
    require(service.fields.count <= 16 && Set(service.fields.map(\.name)).count == service.fields.count, "fields")
    require(service.terms?.split(separator: "\n").allSatisfy { isPlain(String($0)) } ?? true, "terms")
    let values = Dictionary(uniqueKeysWithValues: service.fields.map { ($0.name, $0.label) })
    require((try? service.setup(values)) != nil, "the labels are values of their fields")
    require((try? service.setup(["": "x"])) == nil, "a value without a field")
}

func fuzzService(_ bytes: UnsafeRawBufferPointer) {
    if let service = read(ServiceDescription.self, bytes) { check(service) }
    let text = String(decoding: bytes, as: UTF8.self)
    if let id = ServiceID(text) { require(ServiceID(id.text) == id, "an identifier that was written") }
}

func fuzzPairingRequest(_ bytes: UnsafeRawBufferPointer) {
    guard let request = read(PairingRequestDocument.self, bytes) else { return }
    require(again(request).application == request.application, "an application that was written")
    require(isPlain(request.application.name) && isPlain(request.application.id), "the name of an application")
    require(request.fingerprintBytes.map { $0.count == 32 } ?? true, "a fingerprint")
    require(request.nonceBytes.map { $0.count == 32 } ?? true, "a nonce")
    guard let fingerprint = request.fingerprintBytes, let nonce = request.nonceBytes,
        let id = ServiceID("com.example.a")
    else { return }
    let transcript = PairingTranscript(
        application: request.application, service: id, serviceFingerprint: fingerprint, hostFingerprint: fingerprint,
        hostNonce: nonce, serviceNonce: nonce)
    require(transcript.signedBytes(role: .host) != transcript.signedBytes(role: .service), "the roles of a transcript")
}

func fuzzPairingOffer(_ bytes: UnsafeRawBufferPointer) {
    guard let document = read(PairingOfferDocument.self, bytes), let offer = document.offer else { return }
    require(offer.nonce.count == 32 && offer.signature.count == 64, "the lengths of an offer")
    check(offer.service)
    require(again(PairingOfferDocument(offer)).offer == offer, "an offer that was written")
}

func fuzzAcceptance(_ bytes: UnsafeRawBufferPointer) {
    guard let document = read(PairingAcceptanceDocument.self, bytes) else { return }
    require(document.signatureBytes.map { $0.count == 64 } ?? true, "a signature")
    require(again(document).setup == document.setup, "a setup that was written")
    guard let id = ServiceID("com.example.a"), let setup = document.setup else { return }
    // A service that asks for whatever is a name in it.
    let fields = setup.keys.sorted().prefix(16).compactMap { try? SetupField(name: $0, label: "") }
    guard let service = try? ServiceDescription(id: id, name: "a", fields: fields) else { fatalError("fields") }
    guard let values = try? service.setup(setup) else { return }
    require(values.keys.sorted() == fields.map(\.name), "a value for each field")
    require(values.values.allSatisfy { !$0.isEmpty && isPlain($0) }, "values that can be shown")
    require((try? service.setup(values)) == values, "values that were cleaned")
}

func fuzzGrant(_ bytes: UnsafeRawBufferPointer) {
    guard let document = read(PairingGrantDocument<ICEServer>.self, bytes) else { return }
    for url in document.iceServers.flatMap(\.urls) { _ = try? ServerURL(url) }
    guard let grant = document.grant else { return }
    require((16...512).contains(grant.token.utf8.count), "the length of a token")
    require(grant.lease >= .seconds(1) && grant.lease <= .seconds(60), "a lease")
    require(again(PairingGrantDocument(grant, iceServers: document.iceServers)).grant == grant, "a grant")
}

func fuzzManifest(_ bytes: UnsafeRawBufferPointer) {
    guard let manifest = read(ExtensionManifest.self, bytes) else { return }
    check(manifest.description)
    require(again(manifest) == manifest, "a manifest that was written")
}

func fuzzServiceLink(_ bytes: UnsafeRawBufferPointer) {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let link = try? ServiceLink(parsing: text) else { return }
    require((try? ServiceLink(parsing: link.text)) == link, "a link that was written: \(link.text)")
    require(link.fingerprint.count == 32 && (1...65_535).contains(link.port), "a link")
}

/// Reads the input as a stream of server-sent events.
func fuzzServiceEvent(_ bytes: UnsafeRawBufferPointer) {
    var parser = EventStreamParser()
    var events: [ServiceEvent] = []
    do throws(EventStreamParser.TooLong) {
        try parser.feed(bytes) { name, data in
            if let event = ServiceEvent(name: name, data: data) { events.append(event) }
        }
    } catch {
        require(bytes.count >= 65_536, "a stream that is too long")
    }
    for event in events { check(event) }
}

private func check(_ event: ServiceEvent) {
    switch event {
    case .serviceInfo(let info):
        require(info.viewers ?? 0 >= 0 && info.likes ?? 0 >= 0, "counts")
        require(info.comment.map { isPlain($0.from ?? "") && isPlain($0.text) } ?? true, "a comment that can be shown")
    case .broadcastURL(let url): require(url.hasPrefix("http") || url.lowercased().hasPrefix("http"), "an address")
    case .finished(let reason, let next): require(isPlain(reason) && isPlain(next ?? ""), "a reason")
    case .viewer(let knock):
        require(isPlain(knock.name) && isPlain(knock.kind) && isPlain(knock.address), "a viewer that can be shown")
        require(knock.words.words.count == 4 && knock.isTold, "a viewer's words")
    case .slowestBitrate(let bitrate): require(bitrate?.bitsPerSecond ?? 1 > 0, "a bitrate")
    case .viewerJoined(let viewer), .viewerLeft(let viewer): require(viewer.count == 32, "the hash of a certificate")
    case .candidates, .viewerWithdrawn, .alternates, .reconnect: break
    }
    var parser = EventStreamParser()
    var found: [ServiceEvent] = []
    guard
        (try? parser.feed(Array(event.serialized.utf8)) { name, data in
            if let event = ServiceEvent(name: name, data: data) { found.append(event) }
        }) != nil
    else { return }
    require(found == [event], "an event that was written: \(event.serialized)")
}

public import Identifiers
public import MediaCore
public import Signaling
import Synchronization

/// What relays tell each other of the viewers of a broadcast.
extension ClusterMember {
    /// Tells the relay that a broadcast is fetched from what the slowest viewer here can get; nil: as much as the
    /// others. It forgets that after 10 s.
    public func report(slowest: Bitrate?, of id: BroadcastID, to node: String) {
        let report = SlowestBitrateDocument(node: name, broadcast: id.text, bitrate: slowest?.bitsPerSecond)
        bus.publish(ClusterJSON.encode(report), to: Self.subject("slowest-bitrate", of: node), reply: nil)
    }

    /// Of a relay alone that fetches the broadcast from this one.
    func receiveSlowest(_ message: BusMessage) {
        guard let report = ClusterJSON.decode(SlowestBitrateDocument.self, message.bytes),
            let id = BroadcastID(report.broadcast), report.bitrate.map({ $0 > 0 }) ?? true,
            state.withLock({ $0.cluster.nodes[report.node]?.fetches(id.text, from: name) }) == true
        else { return }
        handlers.noteSlowest(report.bitrate.map { Bitrate(unverified: $0) }, id, report.node)
    }

    /// A message about viewers of an encrypted broadcast at another relay. Viewers are SHA-256 of their certificates,
    /// 32 bytes.
    public enum ViewerNotice: Sendable, Equatable {
        /// Of the publisher's relay: keys that the publisher has encrypted for viewers.
        case keys([MemberKeys])
        /// Of the publisher's relay: what the publisher has encrypted for all viewers, or for one of them.
        case messages(SealedMessages)
        /// Of the publisher's relay: the publisher has removed this viewer.
        case removed([UInt8])
        /// To the publisher's relay: this viewer watches at the relay that tells it.
        case joined([UInt8])
        /// To the publisher's relay: this viewer does not watch there any more.
        case left([UInt8])
        /// Of the publisher's relay: name all viewers there.
        case nameViewers
        /// To the publisher's relay: a part of all viewers there, in answer to that.
        case viewers([[UInt8]], isFirst: Bool)
    }

    static let viewerNotices = "viewer-notice"

    /// Tells the relays that have a broadcast of this one.
    /// - Returns: false if there are none.
    func tell(_ notice: ViewerNotice, of id: BroadcastID) -> Bool {
        let nodes = state.withLock { state in
            state.cluster.nodes.values.filter { $0.hasCopy(of: id.text, publishedAt: name) }.map(\.node.name)
        }
        for node in nodes { tell(notice, of: id, to: node) }
        return !nodes.isEmpty
    }

    /// Tells the relay that a broadcast is published to.
    func tell(_ notice: ViewerNotice, of id: BroadcastID, to node: String) {
        let document = ViewerNoticeDocument(node: name, broadcast: id.text, notice: .init(notice))
        bus.publish(ClusterJSON.encode(document), to: Self.subject(Self.viewerNotices, of: node), reply: nil)
    }

    /// Names all viewers here to the relay that a broadcast is published to.
    func tell(viewers: [[UInt8]], of id: BroadcastID, to node: String) {
        var (rest, isFirst) = (viewers[...], true)
        repeat {
            tell(.viewers(Array(rest.prefix(ViewerNoticeDocument.countLimit)), isFirst: isFirst), of: id, to: node)
            (rest, isFirst) = (rest.dropFirst(ViewerNoticeDocument.countLimit), false)
        } while !rest.isEmpty
    }

    /// The paths by which a broadcast of this relay has come to the others that have it, by their names.
    func copyPaths(of id: BroadcastID) -> [String: [String]] {
        state.withLock { state in
            state.cluster.nodes.compactMapValues { node in
                node.hasCopy(of: id.text, publishedAt: name) ? node.broadcasts[id.text]?.path : nil
            }
        }
    }

    /// Keys, removals and questions are taken of relays alone that the broadcast is published to, and who watches of
    /// relays that have the broadcast. Who does not watch any more, `ViewerRelays` takes of those that it knows,
    /// and it has the limits of what a relay may tell.
    func receiveViewerNotice(_ message: BusMessage) {
        guard message.bytes.count <= ViewerNoticeDocument.sizeLimit,
            let document = ClusterJSON.decode(ViewerNoticeDocument.self, message.bytes),
            let id = BroadcastID(document.broadcast), let notice = document.notice.value
        else { return }
        let isAllowed = state.withLock { state in
            let node = state.cluster.nodes[document.node]
            return switch notice {
            case .left: ClusterNode.isName(document.node)
            case .joined, .viewers: node?.hasCopy(of: id.text, publishedAt: name) ?? false
            case .keys, .messages, .removed, .nameViewers: node?.broadcasts[id.text]?.path == [document.node]
            }
        }
        if isAllowed { handlers.noteViewer(notice, id, document.node) }
    }
}

extension ClusterState.Node {
    /// Whether it has a broadcast that is published to another relay, from that one or through others.
    fileprivate func hasCopy(of id: String, publishedAt relay: String) -> Bool {
        guard let path = broadcasts[id]?.path, path.count > 1 else { return false }
        return path[0] == relay
    }
}

/// The JSON of a ``ClusterMember/ViewerNotice``.
private struct ViewerNoticeDocument: Codable {
    enum Notice: Codable {
        case keys(MemberKeysDocument)
        case messages(SealedMessages)
        case removed(String)
        case joined(String)
        case left(String)
        case nameViewers
        case viewers([String], isFirst: Bool)

        init(_ notice: ClusterMember.ViewerNotice) {
            switch notice {
            case .keys(let keys): self = .keys(MemberKeysDocument(keys))
            case .messages(let messages): self = .messages(messages)
            case .removed(let viewer): self = .removed(Base64URL.encode(viewer))
            case .joined(let viewer): self = .joined(Base64URL.encode(viewer))
            case .left(let viewer): self = .left(Base64URL.encode(viewer))
            case .nameViewers: self = .nameViewers
            case .viewers(let viewers, let isFirst):
                self = .viewers(viewers.map { Base64URL.encode($0) }, isFirst: isFirst)
            }
        }

        /// Nil if something in it is none.
        var value: ClusterMember.ViewerNotice? {
            switch self {
            case .keys(let document): document.keys.map { .keys($0) }
            case .messages(let messages): .messages(messages)
            case .removed(let text): Base64URL.decode(text, count: 32).map { .removed($0) }
            case .joined(let text): Base64URL.decode(text, count: 32).map { .joined($0) }
            case .left(let text): Base64URL.decode(text, count: 32).map { .left($0) }
            case .nameViewers: .nameViewers
            case .viewers(let texts, let isFirst): Self.viewers(texts).map { .viewers($0, isFirst: isFirst) }
            }
        }

        private static func viewers(_ texts: [String]) -> [[UInt8]]? {
            guard texts.count <= ViewerNoticeDocument.countLimit else { return nil }
            let viewers = texts.compactMap { Base64URL.decode($0, count: 32) }
            return viewers.count == texts.count ? viewers : nil
        }
    }

    var node: String
    var broadcast: String
    var notice: Notice

    /// Viewers in one message.
    static let countLimit = 300
    static let sizeLimit = MemberKeysDocument.sizeLimit + 1_024
}

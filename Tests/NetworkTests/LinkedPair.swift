import Foundation
import NetworkBed
import TestSupport

/// Two machines and the link between them, with the host at its first end.
final class LinkedPair {
    static let hostAddress = "10.9.0.1"
    let bed: NetworkBed
    let hostNode: NetworkNode
    let viewerNode: NetworkNode
    let link: EmulatedLink
    private let folder: TemporaryFolder
    private var shareLink: String?

    init(_ conditions: LinkConditions, seed: UInt32 = 1) throws {
        bed = try NetworkBed()
        hostNode = try bed.node()
        viewerNode = try bed.node()
        link = try bed.link(
            hostNode, "\(Self.hostAddress)/24", viewerNode, "10.9.0.2/24", conditions: conditions, seed: seed)
        folder = try TemporaryFolder()
    }

    /// Starts a host with the moving test pattern and its audio, or with a display if one is given.
    /// - Returns: the host, to be kept.
    func host(_ arguments: [String] = [], display: String? = nil) throws -> Endpoint {
        let source = display.map { ["--display", $0, "--audio", "none"] } ?? ["--source", "test"]
        let host = try Endpoint(
            ["host", "--accept", "any", "--listen", "\(Self.hostAddress):8443"] + source + arguments, in: hostNode,
            folder)
        shareLink = try host.event("link")["link"] as? String
        return host
    }

    func join(_ arguments: [String] = []) throws -> Endpoint {
        try Endpoint(["join", "--headless"] + arguments, in: viewerNode, folder, link: shareLink)
    }

    func file(_ name: String) -> String { folder.file(name) }
}

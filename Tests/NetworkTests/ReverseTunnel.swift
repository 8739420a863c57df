import NetworkBed
import TestSupport

/// A host and a viewer in two homes. The host sends the moving test pattern; its signalling uses one forwarded port.
final class ReverseTunnel {
    let homes: TwoHomes
    let host: Endpoint
    let viewer: Endpoint
    /// The link with the outside address.
    let link: String
    private let servers: [TURNServer]
    private let folder: TemporaryFolder

    /// - Parameters:
    ///   - servers: kept alive.
    ///   - host: options, such as those that name servers; the viewer gets the host's servers from the host.
    ///   - environment: the environment of both.
    init(
        _ homes: TwoHomes, _ servers: [TURNServer], host: [String], viewer: [String] = [],
        environment: [String: String] = [:]
    ) throws {
        self.homes = homes
        self.servers = servers
        folder = try TemporaryFolder()
        let environment = ["SHARE_TURN_CREDENTIAL": TURNServer.credential].merging(environment) { $1 }
        self.host = try Endpoint(
            ["host", "--source", "test", "--accept", "any", "--listen", "0.0.0.0:\(TwoHomes.hostPort)"] + host,
            in: homes.host, folder, environment: environment)
        guard let link = try self.host.event("link")["link"] as? String else { throw Program.Failure("no link") }
        self.link = homes.published(link)
        self.viewer = try Endpoint(
            ["join", "--headless"] + viewer, in: homes.viewer, folder, link: self.link, environment: environment)
    }

    /// The candidate pair of the media, after frames have arrived.
    func path() throws -> String {
        try viewer.event("first-picture")
        guard try viewer.reports(2).number("frames") ?? 0 > 0 else { throw Program.Failure("no pictures") }
        return try viewer.event("connected")["path"] as? String ?? ""
    }

    /// Returns the number of frames that the viewer has shown so far.
    func framesShown() throws -> Double { try viewer.reports(1).number("frames") ?? 0 }

    /// Whether the viewer has reconnected by itself: video continues, and there was no further question.
    func isBack() throws -> Bool {
        let before = try framesShown()
        try viewer.reports(1)
        return try framesShown() > before + 10 && host.events("knock").count == 1 && host.isRunning
    }
}

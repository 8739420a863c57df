import Testing

/// Who else watches.
@Suite(.timeLimit(.minutes(1))) struct ShowViewersTests {
    private func join(_ host: HostedScreen, _ name: String) throws -> ShareProcess {
        // An identity of its own: a viewer with several sessions counts once.
        try ShareProcess(["join", "--headless", "--json", "--name", name], environment: ["SHARE_LINK": host.link])
    }

    @Test func viewersAreToldWhoWatchesIfTheHostWantsIt() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none", "--show-viewers"])
        let ann = try join(host, "Ann")
        #expect(ann.event("watching") { $0["names"] as? [String] == ["Ann"] } != nil, "\(ann.errorText)")
        let bob = try join(host, "Bob")
        for viewer in [ann, bob] {
            let event = viewer.event("watching") { $0["names"] as? [String] == ["Ann", "Bob"] }
            #expect(event?["viewers"] as? Int == 2, "\(viewer.errorText)")
        }
        #expect(ann.waitForError(#""Ann" and "Bob" watch"#), "\(ann.errorText)")
        bob.interrupt()
        #expect(bob.exitCode() == 0)
        #expect(ann.waitForError(#""Ann" watches"#, times: 2), "\(ann.errorText)")
    }

    /// They are told how many they are.
    @Test func namesAreNotToldUnasked() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let ann = try join(host, "Ann")
        _ = try #require(ann.event("viewers") { $0["viewers"] as? Int == 1 })
        let bob = try join(host, "Bob")
        _ = try #require(bob.event("viewers") { $0["viewers"] as? Int == 2 })
        #expect(ann.event("viewers") { $0["viewers"] as? Int == 2 } != nil)
        #expect(!(ann.lines + bob.lines).contains { $0.contains("watching") })
    }
}

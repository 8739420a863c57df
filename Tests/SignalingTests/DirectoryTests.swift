import Foundation
import MediaCore
import NIOCore
import NIOHTTP1
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// The directory as a value.
struct BroadcastDirectoryTests {
    private func record(
        _ title: String, app: String = "com.example.budget", viewers: Int? = 0, since: Int = 0, owner: String? = nil,
        region: String? = nil
    ) -> BroadcastDirectory.Record {
        let link = Link(
            host: "127.0.0.1", port: 443, id: .random(), secret: Link.randomSecret(),
            fingerprint: randomBytes(32))
        let entry = DirectoryEntry(
            link, title: title, application: ApplicationInfo(id: app, name: "Budget"), region: region,
            viewers: viewers, since: since, codec: "VP8", route: .relay)
        return .init(entry, owner: owner)
    }

    private func expectPut(
        _ record: BroadcastDirectory.Record, into directory: inout BroadcastDirectory, _ isTaken: Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let result = directory.put(record)
        #expect(result == isTaken, sourceLocation: sourceLocation)
    }

    @Test func theMostWatchedComeFirstThenTheNewest() {
        var directory = BroadcastDirectory()
        for (title, viewers, since) in [("old", 2, 1), ("new", 2, 2), ("most", 9, 0), ("unknown", nil, 9)] {
            expectPut(record(title, viewers: viewers, since: since), into: &directory, true)
        }
        #expect(directory.find(.init()).entries.map(\.title) == ["most", "new", "old", "unknown"])
        var first = BroadcastDirectory.Query()
        first.limit = 1
        let (entries, total) = directory.find(first)
        #expect(entries.map(\.title) == ["most"] && total == 4)
    }

    @Test func anApplicationAndARegionAreFound() {
        var directory = BroadcastDirectory()
        let mine = record("mine", app: "a", region: "eu")
        for record in [mine, record("other", app: "b", region: "eu"), record("far", app: "a", region: "us")] {
            expectPut(record, into: &directory, true)
        }
        #expect(directory.find(.init(application: "a", region: "eu")).entries.map(\.title) == ["mine"])
        #expect(directory.find(.init(application: "c")).total == 0)
        directory.remove(mine.entry.id, of: nil)
        #expect(directory.find(.init(application: "a")).entries.map(\.title) == ["far"])
    }

    @Test func aFullDirectoryKeepsWhatItHas() {
        var directory = BroadcastDirectory(capacity: 1)
        let first = record("first")
        expectPut(first, into: &directory, true)
        expectPut(record("second"), into: &directory, false)
        // What is known may change.
        expectPut(first, into: &directory, true)
        directory.setViewers(3, of: first.entry.id)
        #expect(directory[first.entry.id]?.entry.viewers == 3 && directory.count == 1)
    }

    @Test func aRelayCannotChangeWhatAnotherHas() {
        var directory = BroadcastDirectory()
        let own = record("own")
        expectPut(own, into: &directory, true)
        expectPut(.init(own.entry, owner: "b"), into: &directory, false)
        directory.remove(own.entry.id, of: "b")
        #expect(directory.count == 1)
    }

    /// What a host tells of the application in front (`broadcastAnnotated`): the entry is found by it, and not by the
    /// former.
    @Test func theApplicationInFrontReplacesTheFormer() throws {
        var directory = BroadcastDirectory()
        let (own, far) = (record("own"), record("far", owner: "b"))
        expectPut(own, into: &directory, true)
        expectPut(far, into: &directory, true)
        let head: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
        let icon = try PNGIcon(head + [0, 0, 0, 32, 0, 0, 0, 16] + [UInt8](repeating: 0, count: 9))
        let editor = ApplicationInfo(id: "com.example.editor", name: "Ed\u{202E}itor", icon: icon)
        let version = directory.version
        let told = directory.setApplication(editor, of: own.entry.id)
        let entry = try #require(told)
        #expect(entry.application.id == "com.example.editor" && entry.application.hasIcon && entry.title == "own")
        #expect(!entry.application.name.unicodeScalars.contains("\u{202E}"))
        #expect(directory[own.entry.id]?.icon == icon && directory.version != version)
        #expect(directory.find(.init(application: "com.example.editor")).entries == [entry])
        #expect(directory.find(.init(application: "com.example.budget")).entries.map(\.title) == ["far"])
        // One without an icon takes that of the former away. Another relay's broadcast, and one that is not listed,
        // stay.
        let plain = directory.setApplication(ApplicationInfo(id: "a", name: "A"), of: own.entry.id)
        #expect(plain?.application.hasIcon == false && directory[own.entry.id]?.icon == nil)
        for id in [far.entry.id, "none"] {
            let refused = directory.setApplication(editor, of: id)
            #expect(refused == nil)
        }
        #expect(directory.count == 2 && directory.find(.init(application: "com.example.editor")).total == 0)
    }

    @Test func whatAnotherRelayHadIsForgottenWithIt() {
        var directory = BroadcastDirectory()
        expectPut(record("own"), into: &directory, true)
        expectPut(record("dead", owner: "b"), into: &directory, true)
        expectPut(record("alive", owner: "c"), into: &directory, true)
        directory.removeAll(of: "b")
        #expect(Set(directory.find(.init()).entries.map(\.title)) == ["own", "alive"])
        directory.removeAll(of: "c")
        #expect(directory.find(.init()).entries.map(\.title) == ["own"])
    }

    @Test func titlesAreCleanedAndShortened() {
        let long = record(String(repeating: "x", count: 500)).entry
        #expect(long.title.unicodeScalars.count <= DirectoryEntry.titleLimit)
        #expect(
            record("a\u{202E}b\u{1B}[31m\n").entry.title.unicodeScalars.allSatisfy {
                $0.value >= 0x20 && $0.value != 0x202E
            })
        #expect(record("").entry.title == "Budget")
    }
}

/// The directory over HTTPS.
@Suite(.timeLimit(.minutes(1)))
struct DirectoryRouteTests {
    private func listed(in stage: ServiceFixture, icon: PNGIcon? = nil) throws -> DirectoryEntry {
        let link = Link(
            host: "127.0.0.1", port: 443, id: .random(), secret: Link.randomSecret(), fingerprint: randomBytes(32))
        let application = ApplicationInfo(id: "com.example.a b", name: "Budget", icon: icon)
        let entry = DirectoryEntry(
            link, title: "Numbers", application: application, region: "eu", viewers: 2, since: 5, codec: "VP8",
            route: .relay)
        let directory = try #require(stage.server.directory)
        let isTaken = directory.with { $0.put(.init(entry, icon: icon)) }
        #expect(isTaken)
        return entry
    }

    @Test func programsReadTheDirectory() async throws {
        try await ServiceFixture.with(configure: { $0.directory = DirectorySettings() }) { stage in
            let entry = try listed(in: stage)
            try await stage.client { client in
                let all = try await client.broadcasts().entries
                #expect(all == [entry])
                for (name, count) in [("com.example.a b", 1), ("com.example.a%20b", 0)] {
                    let total = try await client.broadcasts(of: name).total
                    #expect(total == count)
                }
            }
            try await stage.wire { wire in
                let wrong = try await wire.ask(.GET, "/broadcasts?region=us&app=%zz")
                #expect(wrong.document(DirectoryDocument.self)?.total == 0)
                #expect(try await wire.ask(.POST, "/broadcasts", body: "{}").status == 405)
                #expect(try await wire.ask(.GET, "/broadcasts/\(entry.id)/icon").status == 404)
                #expect(try await wire.ask(.GET, "/broadcasts/\(entry.id)").status == 404)
            }
        }
    }

    /// Whatever there is, a response has the 200 with the most viewers, and says how many there are.
    @Test func noMoreThanTwoHundredAreInAResponse() async throws {
        try await ServiceFixture.with(configure: { $0.directory = DirectorySettings() }) { stage in
            let directory = try #require(stage.server.directory)
            for viewers in 0..<250 {
                var entry = try listed(in: stage)
                entry.viewers = viewers
                let isTaken = directory.with { [entry] in $0.put(.init(entry)) }
                #expect(isTaken)
            }
            try await stage.client { client in
                let names: [String?] = [nil, "com.example.a b"]
                for name in names {
                    let (entries, total) = try await client.broadcasts(of: name)
                    #expect(entries.compactMap(\.viewers) == Array((50..<250).reversed()) && total == 250)
                }
            }
        }
    }

    /// The response to the same question is kept, but not longer than it is true.
    @Test func aChangeIsSeenAtOnce() async throws {
        try await ServiceFixture.with(configure: { $0.directory = DirectorySettings() }) { stage in
            try await stage.client { client in
                let empty = try await client.broadcasts()
                let entry = try listed(in: stage)
                let one = try await client.broadcasts()
                #expect(empty.total == 0 && one.entries == [entry])
                stage.server.directory?.with { $0.setViewers(7, of: entry.id) }
                let watched = try await client.broadcasts()
                #expect(watched.entries.map(\.viewers) == [7])
                stage.server.directory?.with { $0.remove(entry.id, of: nil) }
                let gone = try await client.broadcasts()
                #expect(gone.total == 0)
            }
        }
    }

    @Test func theIconOfAnApplicationIsAnImage() async throws {
        // A signature and a header, which is all that is looked at.
        let bytes: [UInt8] =
            [
                0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 8, 0, 0,
                0, 8,
            ]
            + [UInt8](repeating: 0, count: 9)
        try await ServiceFixture.with(configure: { $0.directory = DirectorySettings() }) { stage in
            let entry = try listed(in: stage, icon: PNGIcon(bytes))
            try await stage.wire { wire in
                let answer = try await wire.ask(.GET, "/broadcasts/\(entry.id)/icon")
                #expect(answer.status == 200 && Array(answer.body.readableBytesView) == bytes)
                #expect(answer.headers.first(name: "Content-Type") == "image/png")
                #expect(answer.headers.first(name: "X-Content-Type-Options") == "nosniff")
            }
        }
    }

    @Test(arguments: [true, false])
    func thePageShowsTheDirectoryIfThereIsOne(hasDirectory: Bool) async throws {
        try await ServiceFixture.with(configure: { $0.directory = hasDirectory ? DirectorySettings() : nil }) { stage in
            try await stage.wire { wire in
                let page = try await wire.ask(.GET, "/")
                #expect(page.status == 200 && page.text.contains("Live now") == hasDirectory)
                #expect(page.headers.first(name: "Content-Security-Policy")?.contains("default-src 'none'") == true)
                for file in ["directory.js", "directory.css"] {
                    #expect(try await wire.ask(.GET, "/_/\(file)").status == (hasDirectory ? 200 : 404))
                }
                #expect(try await wire.ask(.GET, "/broadcasts").status == (hasDirectory ? 200 : 404))
            }
        }
    }

    @Test func onlyAPairedHostIsListed() async throws {
        try await ServiceFixture.with(configure: {
            $0.directory = DirectorySettings()
            $0.service.fixedToken = "a-token-of-tools-for-tests"
        }) { stage in
            let place = stage.link.path + "/listing"
            let body = "{\"title\":\"Numbers\"}"
            try await stage.wire { wire in
                #expect(try await wire.ask(.PUT, place, body: body).status == 401)
                let tool = bearer("a-token-of-tools-for-tests")
                #expect(try await wire.ask(.PUT, place, [tool], body: body).status == 404)
                let token = try await RawHost(stage: stage, wire: wire, identity: .ephemeral()).token()
                #expect(try await wire.ask(.POST, place, [bearer(token)], body: body).status == 405)
                for wrong in ["", "{}", "{\"title\":\"x\",\"link\":\"https://elsewhere.example/\"}"] {
                    #expect(try await wire.ask(.PUT, place, [bearer(token)], body: wrong).status == 400, "\(wrong)")
                }
                #expect(stage.delegate.seen.listings.isEmpty)
                #expect(try await wire.ask(.PUT, place, [bearer(token)], body: body).status == 204)
                #expect(stage.delegate.seen.listings == [Listing(title: "Numbers")])
                #expect(try await wire.ask(.DELETE, place, [bearer(token)]).status == 204)
            }
        }
    }

    @Test func onlyAPairedHostPausesItsBroadcast() async throws {
        try await ServiceFixture.with(configure: { $0.service.fixedToken = "a-token-of-tools-for-tests" }) { stage in
            let place = stage.link.path + "/pause"
            try await stage.wire { wire in
                #expect(try await wire.ask(.PUT, place).status == 401)
                #expect(try await wire.ask(.PUT, place, [bearer("a-token-of-tools-for-tests")]).status == 404)
                let token = bearer(try await RawHost(stage: stage, wire: wire, identity: .ephemeral()).token())
                #expect(try await wire.ask(.POST, place, [token]).status == 405)
                #expect(stage.delegate.seen.pauses.isEmpty)
                #expect(try await wire.ask(.PUT, place, [token]).status == 204)
                #expect(try await wire.ask(.DELETE, place, [token]).status == 204)
                #expect(stage.delegate.seen.pauses == [.pause, nil])
                let bodies = [#"{"hold":"blank"}"#, "{}", #"{"hold":"later"}"#, #"{"hold":7}"#, "["]
                for body in bodies { #expect(try await wire.ask(.PUT, place, [token], body: body).status == 204) }
                #expect(stage.delegate.seen.pauses.dropFirst(2) == [.blank, .pause, .pause, .pause, .pause])
            }
        }
    }

    @Test func onlyAPairedHostCallsItsViewersBack() async throws {
        try await ServiceFixture.with(configure: { $0.service.fixedToken = "a-token-of-tools-for-tests" }) { stage in
            let place = stage.link.path + "/return"
            try await stage.wire { wire in
                #expect(try await wire.ask(.PUT, place).status == 401)
                #expect(try await wire.ask(.PUT, place, [bearer("a-token-of-tools-for-tests")]).status == 404)
                let token = bearer(try await RawHost(stage: stage, wire: wire, identity: .ephemeral()).token())
                #expect(try await wire.ask(.DELETE, place, [token]).status == 405)
                #expect(stage.delegate.seen.returns == 0)
                #expect(try await wire.ask(.PUT, place, [token]).status == 204)
                #expect(stage.delegate.seen.returns == 1)
            }
        }
    }

    /// The keys of the viewers, and the removal of one of them.
    @Test func onlyAPairedHostPassesKeysOnAndRemovesViewers() async throws {
        try await ServiceFixture.with(configure: { $0.service.fixedToken = "a-token-of-tools-for-tests" }) { stage in
            let (place, path) = (stage.link.path + "/keys", stage.link.path + "/members/")
            let (viewer, other) = (
                Base64URL.encode([UInt8](repeating: 1, count: 32)), Base64URL.encode([UInt8](repeating: 2, count: 32))
            )
            let body = "{\"wraps\":{\"\(viewer)\":\"AQID\"}}"
            try await stage.wire { wire in
                let tool = bearer("a-token-of-tools-for-tests")
                #expect(try await wire.ask(.PUT, place, body: body).status == 401)
                #expect(try await wire.ask(.PUT, place, [tool], body: body).status == 404)
                #expect(try await wire.ask(.DELETE, path + viewer).status == 401)
                let token = bearer(try await RawHost(stage: stage, wire: wire, identity: .ephemeral()).token())
                #expect(try await wire.ask(.POST, place, [token], body: body).status == 405)
                let many = (0..<301).map { number in
                    let hash = [UInt8](repeating: 0, count: 30) + [UInt8(number / 256), UInt8(number % 256)]
                    return "\"\(Base64URL.encode(hash))\":\"AQ\""
                }
                for wrong in [
                    "", "{}", "{\"wraps\":[]}", "{\"wraps\":{\"\(viewer)\":\"!\"}}", "{\"wraps\":{\"AQ\":\"AQ\"}}",
                    "{\"wraps\":{\"\(viewer)\":\"\(String(repeating: "A", count: 4_100))\"}}",
                    "{\"wraps\":{\(many.joined(separator: ","))}}",
                ] {
                    let status = try await wire.ask(.PUT, place, [token], body: wrong).status
                    #expect(status == 400, "\(wrong.prefix(60))")
                }
                #expect(stage.delegate.seen.passed.isEmpty)
                #expect(try await wire.ask(.PUT, place, [token], body: body).status == 204)
                #expect(
                    stage.delegate.seen.passed
                        == [MemberKeys(viewer: [UInt8](repeating: 1, count: 32), keys: "AQID")])
                let most = "{\"wraps\":{\(many.dropLast().joined(separator: ","))}}"
                #expect(try await wire.ask(.PUT, place, [token], body: most).status == 204)
                #expect(stage.delegate.seen.passed.count == 301)
                for wrong in ["AQ", "!", "../x"] {
                    #expect(try await wire.ask(.DELETE, path + wrong, [token]).status == 404)
                }
                #expect(try await wire.ask(.PUT, path + viewer, [token]).status == 405)
                #expect(try await wire.ask(.DELETE, path + other, [token]).status == 404)
                #expect(try await wire.ask(.DELETE, path + viewer, [token]).status == 204)
                #expect(stage.delegate.seen.removed.count == 2)
            }
        }
    }

    @Test func aRelayWithoutADirectorySaysSo() async throws {
        try await ServiceFixture.with { stage in
            try await stage.client { client in
                _ = try await stage.pair(client, .ephemeral())
                let unlisted = await #expect(throws: SignalingError.self) {
                    try await client.list(Listing(title: "x"))
                }
                let unread = await #expect(throws: SignalingError.self) { _ = try await client.broadcasts() }
                #expect(unlisted?.code == .gone && unread?.code == .gone)
            }
        }
    }
}

import Admission
import Foundation
import Identifiers
import Signaling
import Testing

@testable import Relay

/// What a relay makes of the others' messages, whichever of them are lost.
@Suite struct ClusterStateTests {
    private let start = ContinuousClock.now
    private let node = ClusterNode(
        name: "b", host: "b.example", port: 443, fingerprint: [UInt8](repeating: 2, count: 32), isWebPKI: false,
        region: nil)
    private let id = BroadcastID(7)

    private func link(_ id: BroadcastID) -> Link {
        Link(
            host: "b.example", port: 443, id: id, secret: [UInt8](repeating: 1, count: 16),
            fingerprint: [UInt8](repeating: 2, count: 32))
    }

    private func broadcast(_ id: BroadcastID, path: [String] = ["b"], viewers: Int = 0) -> ClusterBroadcast {
        var result = ClusterBroadcast(link: link(id), path: path, name: "Budget", publisherDecides: false)
        result.viewers = viewers
        return result
    }

    private func message(
        _ change: Int, _ body: ClusterMessage.Body, node: String = "b", run: UInt64 = 5
    ) -> ClusterMessage { ClusterMessage(node: node, run: run, change: change, body: body) }

    /// A cluster that knows relay b, which has had no change yet.
    private func acquainted() -> ClusterState {
        var state = ClusterState(own: "a", run: 1)
        #expect(state.receive(message(0, .alive(node)), now: start) == [.joined(node)])
        return state
    }

    @Test func changesAreAppliedInTheirOrder() {
        var state = acquainted()
        let put = state.receive(message(1, .put(id: id.text, broadcast(id))), now: start)
        #expect(put == [.put(node: "b", id: id.text)])
        #expect(state.sources(of: id.text).map(\.node.name) == ["b"])
        let removed = state.receive(message(2, .remove(id: id.text)), now: start)
        #expect(removed == [.removed(node: "b", id: id.text)])
        #expect(state.sources(of: id.text).isEmpty)
    }

    @Test func whoMissesAChangeAsksForAllOnce() {
        var state = acquainted()
        let late = message(2, .put(id: id.text, broadcast(id)))
        #expect(state.receive(late, now: start) == [.put(node: "b", id: id.text), .fetch(node: "b")])
        #expect(state.receive(message(3, .alive(node)), now: start) == [])
        // The answer is lost: it asks again.
        #expect(state.receive(message(3, .alive(node)), now: start + .seconds(8)) == [.fetch(node: "b")])
    }

    /// Where the first attempt is late, a second one begins: what only the first one had brought would be taken for
    /// removed.
    @Test func partsOfTwoAttemptsAreNotOneSnapshot() {
        var state = acquainted()
        let ids = [BroadcastID(1), BroadcastID(2)].sorted { $0.text < $1.text }
        let parts = ids.enumerated().map { index, id in
            var entry = broadcast(id)
            entry.change = index + 1
            return ClusterSnapshot(
                node: node, run: 5, change: 2, entries: [.init(id: id.text, broadcast: entry)],
                next: index == 0 ? id.text : nil)
        }
        #expect(state.receive(message(2, .alive(node)), now: start) == [.fetch(node: "b")])
        #expect(state.receive(parts[0], now: start).next == ids[0].text)
        let later = start + ClusterState.snapshotTime
        #expect(state.receive(message(2, .alive(node)), now: later) == [.fetch(node: "b")])
        // The last part of the first attempt.
        #expect(state.receive(parts[1], after: ids[0].text, now: later).effects.isEmpty)
        #expect(!state.sources(of: ids[0].text).isEmpty)
        // The second attempt is complete.
        #expect(state.receive(parts[0], now: later).next == ids[0].text)
        #expect(state.receive(parts[1], after: ids[0].text, now: later).effects == [.put(node: "b", id: ids[1].text)])
        #expect(ids.allSatisfy { !state.sources(of: $0.text).isEmpty })
    }

    @Test func aSnapshotReplacesWhatWasKnown() {
        var state = acquainted()
        let (kept, gone) = (BroadcastID(1), BroadcastID(2))
        _ = state.receive(message(1, .put(id: gone.text, broadcast(gone))), now: start)
        #expect(state.receive(message(9, .alive(node)), now: start) == [.fetch(node: "b")])
        var new = broadcast(kept)
        new.change = 9
        let snapshot = ClusterSnapshot(
            node: node, run: 5, change: 9, entries: [.init(id: kept.text, broadcast: new)], next: nil)
        let effects = state.receive(snapshot, now: start).effects
        #expect(effects == [.put(node: "b", id: kept.text), .removed(node: "b", id: gone.text)])
        #expect(state.receive(message(9, .alive(node)), now: start) == [])
    }

    /// Changes and snapshots come on different ways, so an old one may come last.
    @Test func anOlderStateDoesNotReplaceANewerOne() {
        var state = acquainted()
        #expect(state.receive(message(4, .alive(node)), now: start) == [.fetch(node: "b")])
        _ = state.receive(message(5, .put(id: id.text, broadcast(id, viewers: 5))), now: start)
        var old = broadcast(id, viewers: 1)
        old.change = 4
        let snapshot = ClusterSnapshot(
            node: node, run: 5, change: 4, entries: [.init(id: id.text, broadcast: old)], next: nil)
        #expect(state.receive(snapshot, now: start).effects.isEmpty)
        #expect(state.sources(of: id.text).first?.broadcast.viewers == 5)
    }

    @Test func snapshotsComeInParts() {
        var state = acquainted()
        _ = state.receive(message(2, .alive(node)), now: start)
        let ids = [BroadcastID(1), BroadcastID(2)]
        let parts = ids.map { id in
            ClusterSnapshot(
                node: node, run: 5, change: 2, entries: [.init(id: id.text, broadcast: broadcast(id))],
                next: id == ids[0] ? id.text : nil)
        }
        #expect(state.receive(parts[0], now: start).next == ids[0].text)
        #expect(state.receive(parts[1], after: ids[0].text, now: start).next == nil)
        #expect(ids.allSatisfy { !state.sources(of: $0.text).isEmpty })
        // Nobody asked for it.
        let third = ClusterSnapshot(node: node, run: 5, change: 2, entries: [], next: nil)
        #expect(state.receive(third, now: start).effects.isEmpty)
    }

    @Test func aSilentRelayIsForgottenWithWhatItHas() {
        var state = acquainted()
        _ = state.receive(message(1, .put(id: id.text, broadcast(id))), now: start)
        #expect(state.expire(now: start + .seconds(6)) == [])
        #expect(state.expire(now: start + .seconds(7)) == [.removed(node: "b", id: id.text), .left(node)])
        #expect(state.sources(of: id.text).isEmpty)
        // An unknown relay's changes wait until it says that it is there.
        #expect(state.receive(message(2, .put(id: id.text, broadcast(id))), now: start) == [])
    }

    @Test func aRelayThatStartsAgainIsAnother() {
        var state = acquainted()
        _ = state.receive(message(1, .put(id: id.text, broadcast(id))), now: start)
        let effects = state.receive(message(0, .alive(node), run: 6), now: start)
        #expect(effects == [.removed(node: "b", id: id.text), .left(node), .joined(node)])
        // What the first run has sent late.
        #expect(state.receive(message(2, .put(id: id.text, broadcast(id))), now: start) == [])
        #expect(state.receive(message(2, .leave), now: start) == [])
        #expect(state.receive(message(0, .leave, run: 6), now: start) == [.left(node)])
    }

    @Test func loopsAndLongWaysAreRefused() {
        var state = acquainted()
        let three = BroadcastID(3)
        _ = state.receive(message(1, .put(id: id.text, broadcast(id, path: ["a", "b"]))), now: start)
        _ = state.receive(message(2, .put(id: three.text, broadcast(three, path: ["x", "y", "b"]))), now: start)
        // It has come through this relay, or is three relays deep.
        #expect(state.sources(of: id.text).isEmpty && state.sources(of: three.text).isEmpty)
        for path in [[], ["b", "x"], ["w", "x", "y", "b"], ["b", "x", "b"], ["A B", "b"]] {
            let effects = state.receive(message(3, .put(id: "x", broadcast(id, path: path))), now: start)
            #expect(!effects.contains(.put(node: "b", id: "x")), "\(path)")
        }
    }

    /// What a source says later decides, too; what is not known decides nothing.
    @Test func aSourceThatLosesABroadcastIsNoSource() {
        var state = acquainted()
        #expect(state.canFetch(id.text, from: "b") == false && state.canFetch(id.text, from: "c") == nil)
        _ = state.receive(message(1, .put(id: id.text, broadcast(id, path: ["c", "b"]))), now: start)
        #expect(state.canFetch(id.text, from: "b") == true)
        _ = state.receive(message(2, .put(id: id.text, broadcast(id, path: ["c", "a", "b"]))), now: start)
        #expect(state.canFetch(id.text, from: "b") == false)
        // A change was missed.
        _ = state.receive(message(9, .alive(node)), now: start)
        #expect(state.canFetch(id.text, from: "b") == nil)
        _ = state.expire(now: start + .seconds(60))
        #expect(state.canFetch(id.text, from: "b") == nil)
    }

    @Test func aSnapshotDoesNotBringBackWhatWasRemovedMeanwhile() {
        var state = acquainted()
        #expect(state.receive(message(4, .alive(node)), now: start) == [.fetch(node: "b")])
        _ = state.receive(message(5, .remove(id: id.text)), now: start)
        var old = broadcast(id)
        old.change = 4
        let snapshot = ClusterSnapshot(
            node: node, run: 5, change: 4, entries: [.init(id: id.text, broadcast: old)], next: nil)
        #expect(state.receive(snapshot, now: start).effects.isEmpty && state.sources(of: id.text).isEmpty)
    }

    @Test func aSnapshotEnds() {
        var state = acquainted()
        _ = state.receive(message(4, .alive(node)), now: start)
        func part(_ next: String) -> ClusterSnapshot {
            ClusterSnapshot(node: node, run: 5, change: 4, entries: [], next: next)
        }
        #expect(state.receive(part("m"), now: start).next == "m")
        #expect(state.receive(part("m"), after: "m", now: start).next == nil)
    }

    /// Another relay's numbers end no calculation here.
    @Test func numbersBeyondAllReasonAreRefused() {
        var state = acquainted()
        for change in [-1, .min, .max] {
            #expect(state.receive(message(change, .alive(node)), now: start).isEmpty)
            #expect(state.receive(message(change, .put(id: id.text, broadcast(id))), now: start).isEmpty)
        }
        for viewers in [-1, .min, .max] {
            _ = state.receive(message(1, .put(id: id.text, broadcast(id, viewers: viewers))), now: start)
            #expect(state.sources(of: id.text).isEmpty)
        }
        _ = state.receive(message(9, .alive(node)), now: start)
        let snapshot = ClusterSnapshot(node: node, run: 5, change: .max, entries: [], next: nil)
        #expect(state.receive(snapshot, now: start).effects.isEmpty)
        #expect(
            state.receive(message(9, .put(id: id.text, broadcast(id))), now: start) == [.put(node: "b", id: id.text)])
    }

    @Test func theShortestWayComesFirst() {
        var state = acquainted()
        for (name, path, viewers) in [("c", ["c"], 9), ("d", ["c", "d"], 0), ("e", ["e"], 3)] {
            var other = node
            other.name = name
            _ = state.receive(message(0, .alive(other), node: name), now: start)
            _ = state.receive(
                message(1, .put(id: id.text, broadcast(id, path: path, viewers: viewers)), node: name), now: start)
        }
        #expect(state.sources(of: id.text).map(\.node.name) == ["e", "c", "d"])
        // One that is about to stop is asked only if there is no other.
        var draining = node
        (draining.name, draining.isDraining) = ("e", true)
        _ = state.receive(message(1, .alive(draining), node: "e"), now: start)
        #expect(state.sources(of: id.text).map(\.node.name) == ["c", "d", "e"])
    }

    @Test func anotherRelayOfThisNameIsNoticed() {
        var state = ClusterState(own: "a", run: 1)
        var other = node
        other.name = "a"
        #expect(state.receive(message(0, .alive(other), node: "a"), now: start) == [.nameIsTaken])
        #expect(state.receive(message(0, .alive(other), node: "a", run: 1), now: start) == [])
        #expect(state.nodes.isEmpty)
    }

    @Test func relaysAndBroadcastsAreLimited() {
        var state = ClusterState(own: "a", run: 1)
        for number in 0..<100 {
            var other = node
            other.name = "n\(number)"
            _ = state.receive(message(0, .alive(other), node: other.name), now: start)
        }
        #expect(state.nodes.count == ClusterState.nodeLimit)
        var one = acquainted()
        for number in 1...ClusterState.broadcastLimit + 1 {
            let id = BroadcastID(UInt64(number))
            _ = one.receive(message(number, .put(id: id.text, broadcast(id))), now: start)
        }
        #expect(one.nodes["b"]?.broadcasts.count == ClusterState.broadcastLimit)
    }

    @Test(arguments: ["", "{", "[]", #"{"node":"b"}"#, #"{"node":"b","run":1,"change":1,"body":{"dance":{}}}"#])
    func brokenMessagesAreDropped(_ text: String) {
        #expect(ClusterJSON.decode(ClusterMessage.self, Array(text.utf8)) == nil)
    }

    /// The bus has no other limit than that of a message.
    @Test func textsOfMessagesAreLimitedAndCanBeShown() throws {
        func decoded(_ body: ClusterMessage.Body, _ pairs: [(String, String)]) -> ClusterMessage.Body? {
            var text = String(decoding: ClusterJSON.encode(message(1, body)), as: UTF8.self)
            for (old, new) in pairs {
                #expect(text.contains(old), "\(old)")
                text.replace(old, with: new)
            }
            return ClusterJSON.decode(ClusterMessage.self, Array(text.utf8))?.body
        }
        let long = String(repeating: "x", count: 20_000)
        for host in [long, "javascript:alert(1)//", "a b", "\\u001b[2J", ""] {
            #expect(decoded(.alive(node), [(#""b.example""#, "\"\(host)\"")]) == nil, "\(host.prefix(20))")
        }
        var other = node
        other.region = "eu"
        guard case .alive(let read) = decoded(.alive(other), [(#""eu""#, "\"\\u001b[2Jeu\(long)\"")]) else {
            Issue.record("not read")
            return
        }
        #expect(read.region?.hasPrefix("[2Jeu") == true && read.region?.count == 32)
        guard
            case .put(_, let put) = decoded(
                .put(id: id.text, broadcast(id)),
                [("Budget", "\\u001b]0;\(long)"), ("publisherDecides", "x\":1,\"publisherDecides")])
        else {
            Issue.record("not read")
            return
        }
        #expect(put.name.count == 120 && !put.name.contains("\u{1B}"))
        #expect(decoded(.put(id: id.text, broadcast(id)), [("b.example", long)]) == nil)
        #expect(decoded(.put(id: id.text, broadcast(id, path: ["a", "b", "c", "d"])), []) == nil)
        // An identifier that is none is not kept.
        var state = acquainted()
        #expect(state.receive(message(1, .remove(id: long)), now: start).isEmpty)
        #expect(state.nodes["b"]?.change == 0)
    }

    /// A listing is what the other relay says, and its link is for people.
    @Test func listingsOfOtherRelaysAreCleaned() throws {
        var listed = broadcast(id)
        listed.listing = DirectoryEntry(
            link(id), title: "Keynote", application: ApplicationInfo(id: "com.example.a", name: "A"), region: nil,
            viewers: 1, since: 5, codec: nil, route: .relay)
        let text = String(decoding: ClusterJSON.encode(message(1, .put(id: id.text, listed))), as: UTF8.self)
        func listing(_ old: String, _ new: String) -> DirectoryEntry?? {
            let bytes = Array(text.replacing(old, with: new).utf8)
            guard case .put(_, let put) = ClusterJSON.decode(ClusterMessage.self, bytes)?.body else { return nil }
            return .some(put.listing)
        }
        #expect(listing("Keynote", "\\u001b[2J" + String(repeating: "x", count: 20_000))??.title.count == 120)
        #expect(listing("\"since\":5", "\"since\":\(Int.min)")??.since == 0)
        let link = try #require(text.range(of: #""listing":.*?"link":""#, options: .regularExpression))
        let spoilt = text.replacingCharacters(in: link.upperBound..<link.upperBound, with: "javascript:")
        guard case .put(_, let put) = ClusterJSON.decode(ClusterMessage.self, Array(spoilt.utf8))?.body else {
            Issue.record("not read")
            return
        }
        #expect(put.listing == nil && put.name == "Budget")
    }

    @Test func namesOfRelaysArePartsOfSubjects() {
        for name in ["a", "relay-7", String(repeating: "x", count: 32)] { #expect(ClusterNode.isName(name)) }
        for name in ["", "A", "a.b", "a*", ">", "a b", String(repeating: "x", count: 33)] {
            #expect(!ClusterNode.isName(name), "\(name)")
        }
    }
}

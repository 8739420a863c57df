import MediaCore
import MediaEngine
import SessionDescription
import Testing

@testable import Admission
@testable import Host
@testable import Identity
@testable import PeerConnection
@testable import Signaling

/// The limits of a host's ICE agents and of viewers' effects on others, without agents.
@Suite struct ViewerAllowanceTests {
    private let start = MediaInstant(nanoseconds: 5_000_000_000)

    private func viewer(_ certificate: UInt8, _ address: String = "192.0.2.1") -> Viewer {
        Viewer(
            knock: .random(), name: "viewer", kind: "share", address: address,
            fingerprint: [UInt8](repeating: certificate, count: 32))
    }

    @Test func anAllowanceOutlivesTheSession() {
        let allowances = ViewerAllowances(viewers: 8, now: start)
        var taken = 0
        // One session each tenth of a second for a minute.
        for step in 0..<600 {
            let now = start + .milliseconds(step * 100)
            if allowances.allowance(for: viewer(1), now: now).takeAgent(now: now) { taken += 1 }
        }
        #expect((25...33).contains(taken), "\(taken)")
        // Another viewer has its own allowance.
        #expect(allowances.allowance(for: viewer(2), now: start + .seconds(60)).takeAgent(now: start + .seconds(60)))
    }

    @Test func aViewerThatJoinsAgainOwesTheKeyFramesOfItsFormerSessions() {
        let allowances = ViewerAllowances(viewers: 8, now: start)
        // One session each half second for a minute.
        let granted = (0..<120).count { step in
            let now = start + .milliseconds(step * 500)
            return allowances.allowance(for: viewer(1), now: now).keyframes.allows(.key, isShared: true, now: now)
        }
        #expect((9...12).contains(granted), "\(granted)")
        let other = allowances.allowance(for: viewer(2), now: start + .seconds(60))
        let isGranted = other.keyframes.allows(.key, isShared: true, now: start + .seconds(60))
        #expect(isGranted)
    }

    @Test func manyCertificatesOfOneAddressShareAnAllowance() {
        let allowances = ViewerAllowances(viewers: 8, now: start)
        let taken = (0..<200).count { allowances.allowance(for: viewer(UInt8($0)), now: start).takeAgent(now: start) }
        #expect(taken == 64)
        let other = allowances.allowance(for: viewer(7, "192.0.2.2"), now: start)
        #expect(other.takeCandidate(now: start))
    }

    @Test func allowancesTakeConstantMemoryAndTheOldOnesGoFirst() {
        let allowances = ViewerAllowances(viewers: 8, now: start)
        for number in 0..<4_096 {
            var viewer = viewer(0, "10.0.\(number / 256).\(number % 256)")
            viewer = Viewer(
                knock: viewer.knock, name: viewer.name, kind: viewer.kind, address: viewer.address,
                fingerprint: withUnsafeBytes(of: number) { Array($0) })
            _ = allowances.allowance(for: viewer, now: start).takeAgent(now: start)
        }
        #expect(allowances.count <= 2_048)
        // After a while the allowances are full again, and can be removed.
        let later = start + .seconds(600)
        #expect(allowances.allowance(for: viewer(9), now: later).takeAgent(now: later))
        #expect(allowances.count == 2)
    }

    @Test func anOutageWithEightCandidatesARestartIsWithinTheAllowance() {
        let allowances = ViewerAllowances(viewers: 8, now: start)
        let allowance = allowances.allowance(for: viewer(1), now: start)
        for restart in 0..<10 {
            let now = start + .seconds(restart * 3)
            #expect(allowance.takeAgent(now: now))
            for _ in 0..<8 { #expect(allowance.takeCandidate(now: now), "restart \(restart)") }
        }
    }

    @Test func aPoolCountsAgentsUntilTheyAreReleased() {
        let pool = ICEAgentPool(.init(agents: 3, descriptors: 20))
        let first = pool.reserve(descriptors: 8)
        #expect(first != nil)
        #expect(pool.reserve(descriptors: 8) != nil)
        #expect(pool.reserve(descriptors: 8) == nil)
        #expect(pool.reserve(descriptors: 4) != nil)
        #expect(pool.reserve(descriptors: 0) == nil)
        first?.release()
        first?.release()
        #expect((pool.agents, pool.descriptors) == (2, 12))
        #expect(pool.reserve(descriptors: .max) == nil)
    }

    @Test(arguments: [0, 20, 64, 128, 160, 256, 1_024, 4_096, 65_536])
    func theDescriptorsOfAllPartsFitBelowTheLimit(_ limit: Int) {
        let used = min(limit, 30)
        let plan = DescriptorPlan(limit: limit, used: used)
        #expect(plan.connections >= 8 && plan.agents >= 0)
        if limit >= 64 { #expect(used + plan.connections + plan.agents + plan.reserve <= limit) }
        if limit >= 160 { #expect(plan.agents >= 40) }
        if limit >= 4_096 { #expect(plan.connections == 512) }
    }

    @Test func descriptorsAreCounted() throws {
        let before = try #require(FileDescriptors.open)
        #expect(before > 2 && before <= FileDescriptors.limit)
    }

    @Test func whereAPeerIsDecidesWhichAddressesItMayName() throws {
        let own = ["192.0.2.7", "2001:db8::7"]
        func policy(_ text: String) -> CandidatePolicy { CandidatePolicy(CandidatePolicy.place(of: text, own: own)) }
        func permits(_ from: String, _ text: String) throws -> Bool {
            policy(from).permits(try #require(IPAddress(text)))
        }
        for local in ["127.0.0.1", "127.8.8.8", "::1", "192.0.2.7", "2001:db8:0::7"] {
            #expect(try permits(local, "127.0.0.1") && permits(local, "::1") && permits(local, "169.254.1.1"))
        }
        for elsewhere in ["192.0.2.8", "2001:db8::8", "somewhere", ""] {
            for text in ["127.0.0.1", "127.255.0.9", "::1", "169.254.1.1", "fe80::1", "febf::1"] {
                #expect(!(try permits(elsewhere, text)), "\(elsewhere) names \(text)")
            }
            for text in ["192.168.1.1", "8.8.8.8", "2001:db8::1", "fd00::1", "fec0::1"] {
                #expect(try permits(elsewhere, text), "\(elsewhere) names \(text)")
            }
        }
        #expect(try permits("169.254.3.3", "169.254.1.1"))
        #expect(!(try permits("169.254.3.3", "127.0.0.1")))
        // These addresses have no legitimate use.
        for text in ["::ffff:127.0.0.1", "::127.0.0.1", "::", "0.0.0.0", "224.0.0.1", "ff02::1", "255.255.255.255"] {
            #expect(!(try permits("127.0.0.1", text)), "\(text)")
        }
    }
}

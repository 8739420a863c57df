import HTTP
import LinuxRuntime
import MediaCore
import OpusCodec
import Signaling
import TestSource
import Testing
import VPXCodec
import WaitSupport

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Viewer

/// What real viewers say to a real host.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ViewerMessageTests {
    /// The events of one viewer.
    struct Told {
        var rights: [ViewerRights] = []
        var granted: [GrantedRights] = []
        var comments: [BroadcastComment] = []
        var pointers: [PointerEvent] = []
        var controllers: [String?] = []
    }

    private func host(
        _ comment: RightState, _ events: Monitor<[String]> = Monitor([]),
        decide: @escaping @Sendable (RightRequest) async -> Bool? = { _ in nil }
    ) async throws -> (HostSession, Link) {
        let policy = MessagePolicy(rights: ViewerRights(comment: comment, point: .no, control: .no), decide: decide)
        return try await Self.host(policy, events)
    }

    static func host(_ policy: MessagePolicy, _ events: Monitor<[String]> = Monitor([])) async throws -> (
        HostSession, Link
    ) {
        var configuration = HostSession.Configuration(
            listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 30,
            maximumBitrate: .kilobits(2_000), contentHint: nil, name: "loopback")
        configuration.viewers.messages = policy
        let session = try HostSession(
            configuration: configuration, identity: try .ephemeral(), source: TestVideoSource(framesPerSecond: 30),
            encoder: VP8Encoder(), audio: [], decide: { _ in .accepted },
            emit: { event in
                switch event {
                case .comment(let comment, let who):
                    events.change { $0.append("\(who?.name ?? "host"): \(comment.text)") }
                case .rightsChanged(let who, let rights): events.change { $0.append("\(who.name) \(rights.comment)") }
                case .controlChanged(let change):
                    events.change {
                        $0.append(
                            "\(change.viewer.name) \(change.end?.rawValue ?? "controls") \(change.inputs) \(change.dropped)"
                        )
                    }
                default: break
                }
            })
        return (session, try await session.start())
    }

    static func viewer(_ link: Link, _ name: String, _ told: Monitor<Told>) throws -> ViewerSession {
        let seen = RecordedOutput()
        return ViewerSession(
            link: link, identity: try .ephemeral(), name: name, sink: playback(seen, speaker: seen),
            emit: { event in
                switch event {
                case .hostEvent(.rights(let granted)):
                    told.change {
                        $0.rights.append(granted.rights)
                        $0.granted.append(granted)
                    }
                case .hostEvent(.pointers(let events)): told.change { $0.pointers += events.pointers }
                case .hostEvent(.controller(let controller)): told.change { $0.controllers.append(controller.by) }
                case .hostEvent(.comment(let comment)): told.change { $0.comments.append(comment) }
                default: break
                }
            })
    }

    @Test func aViewerAsksAndAllReadWhatItWrites() async throws {
        let (asked, answer, events) = (Monitor<[String]>([]), Monitor(false), Monitor<[String]>([]))
        let (host, link) = try await host(.ask, events) { request in
            asked.change { $0.append("\(request.viewer.name) \(request.right)") }
            return await waiting(answer) { $0 ? true : nil }
        }
        let (ann, bob) = (Monitor(Told()), Monitor(Told()))
        let (first, second) = (try Self.viewer(link, "Ann", ann), try Self.viewer(link, "Bob", bob))
        let watching = [Task { await first.run() }, Task { await second.run() }]
        for told in [ann, bob] {
            #expect(await waiting(told) { $0.rights.first?.comment } == .ask)
        }
        let refusal = await #expect(throws: SignalingError.self) { try await first.send(.comment("Too early")) }
        #expect(refusal?.code == .refused)
        try await first.send(.ask(.comment))
        #expect(await waiting(asked) { $0.isEmpty ? nil : $0 } == ["Ann comment"])
        answer.change { $0 = true }
        #expect(await waiting(ann) { $0.rights.count == 2 ? $0.rights[1].comment : nil } == .yes)
        try await first.send(.comment("Hello\u{202E} all\n"))
        for told in [ann, bob] {
            let comment = await waiting(told) { $0.comments.first }
            #expect(comment?.from == "Ann" && comment?.text == "Hello all", "\(String(describing: comment))")
        }
        #expect(await host.say("Welcome"))
        let welcome = await waiting(bob) { $0.comments.count == 2 ? $0.comments[1] : nil }
        #expect(welcome?.from == nil && welcome?.text == "Welcome")
        #expect(await !host.say(" "))
        #expect(bob.with { $0.rights.count } == 1, "a right of Ann is told to Bob")

        // Taken back, it ends with what is said next.
        let session = try #require(await host.viewers().first { $0.description.name == "Ann" })
        #expect(session.rights?.comment == .yes)
        #expect(await host.set(.comment, to: .no, of: session.id) == true)
        await #expect(throws: SignalingError.self) { try await first.send(.comment("Still here")) }
        #expect(await waiting(ann) { $0.rights.count == 3 ? $0.rights[2].comment : nil } == .no)
        #expect(events.with { $0 } == ["Ann yes", "Ann: Hello all", "host: Welcome", "Ann no"])
        for viewer in [first, second] { viewer.leave() }
        for task in watching { _ = await task.value }
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func aQuestionEndsWithItsViewer() async throws {
        let (asked, withdrawn) = (Monitor(0), Monitor(0))
        let never = Monitor(false)
        let (host, link) = try await host(.ask) { _ in
            asked.change { $0 += 1 }
            return await withTaskCancellationHandler {
                await waiting(never) { $0 ? true : nil }
            } onCancel: {
                withdrawn.change { $0 += 1 }
                never.change { $0 = true }
            }
        }
        let told = Monitor(Told())
        let viewer = try Self.viewer(link, "Ann", told)
        let watching = Task { await viewer.run() }
        #expect(await waiting(told) { $0.rights.first } != nil)
        try await viewer.send(.ask(.comment))
        #expect(await waiting(asked) { $0 == 1 ? true : nil } == true)
        viewer.leave()
        _ = await watching.value
        #expect(await waiting(withdrawn) { $0 == 1 ? true : nil } == true)
        await host.stop(EndReason(.stopped, "done"))
    }
}

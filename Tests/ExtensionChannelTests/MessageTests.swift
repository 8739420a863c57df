import Foundation
import LinuxRuntime
import Testing

@testable import ExtensionChannel

@Suite struct MessageTests {
    private typealias HostEnd = ProcessMessageChannel<ExtensionMessage, HostMessage>
    private typealias ProgramEnd = ProcessMessageChannel<HostMessage, ExtensionMessage>

    @Test(arguments: [
        HostMessage.start(
            ExtensionStart(application: .init(id: "a", name: "A"), setup: ["t": "x"], memoryBudget: 5)),
        .memory(.init(id: 2, kind: .audio, slots: 3, slotSize: 4)),
        .sample(.init(memory: 1, slot: 2, format: .i420(width: 4, height: 6, strideY: 8, strideC: 9), time: 10)),
        .sample(
            .init(
                memory: 1, slot: 2, format: .vp8(bytes: 3, isKeyframe: true, layer: 1, width: 4, height: 6), time: -1)),
        .sample(.init(memory: 1, slot: 2, format: .pcm(track: .microphone, bytes: 4), time: 0)),
        .sample(.init(memory: 1, slot: 2, format: .opus(track: .application, bytes: 4), time: 0)),
        .paused, .resumed, .annotated(.init(id: "b", name: "B", icon: [0x89, 0x50])), .finish,
    ])
    func messagesOfAHostSurviveTheirWay(_ message: HostMessage) throws {
        let data = try JSONEncoder().encode(message)
        #expect(try JSONDecoder().decode(HostMessage.self, from: data) == message)
    }

    @Test(arguments: [
        ExtensionMessage.ready(.init(media: .encoded)), .release(memory: 1, slot: 2),
        .serviceInfo(viewers: 1, likes: nil, commentName: "a", commentText: "b"),
        .serviceInfo(viewers: nil, likes: nil, commentName: nil, commentText: nil), .broadcastURL("https://a"),
        .keyframe, .bitrate(5), .failed(reason: "a", nextStep: nil), .failed(reason: "a", nextStep: "b"),
        .setup(["a": "b"]), .cancelled,
    ])
    func messagesOfAProgramSurviveTheirWay(_ message: ExtensionMessage) throws {
        let data = try JSONEncoder().encode(message)
        #expect(try JSONDecoder().decode(ExtensionMessage.self, from: data) == message)
    }

    @Test func messagesArriveWholeAndInOrderHoweverMuchIsSent() throws {
        let (a, b) = try #require(LocalConnection.pair())
        let host = HostEnd(a, takesAttachments: false)
        let program = ProgramEnd(b, takesAttachments: true)
        let count = 20_000
        var received = 0
        for index in 0..<count {
            try host.send(.sample(.init(memory: 1, slot: index, format: .opus(track: .application, bytes: 4), time: 0)))
        }
        #expect(host.isBlocked)
        while received < count {
            guard try program.fill() else {
                try host.flush()
                continue
            }
            while let message = try program.next() {
                guard case .sample(let sample) = message else {
                    Issue.record("\(message)")
                    return
                }
                #expect(sample.slot == received)
                received += 1
            }
        }
        #expect(!host.isBlocked)
    }

    @Test func aDescriptorComesWithItsMessageAndAProgramMaySendNone() throws {
        let (a, b) = try #require(LocalConnection.pair())
        let host = HostEnd(a, takesAttachments: false)
        let program = ProgramEnd(b, takesAttachments: true)
        let memory = try SharedMemory(byteCount: 4_096)
        memory.base.storeBytes(of: 0x5A, as: UInt8.self)
        try host.send(.paused)
        try host.send(.memory(.init(id: 1, kind: .video, slots: 1, slotSize: 4_096)), attachment: memory)
        while try program.fill() {}
        #expect(try program.next() == .paused)
        #expect(try program.next() == .memory(.init(id: 1, kind: .video, slots: 1, slotSize: 4_096)))
        let file = try #require(program.takeAttachment())
        let view = try SharedMemory(reading: file, byteCount: 4_096)
        #expect(view.base.load(as: UInt8.self) == 0x5A)

        let other = try SharedMemory(byteCount: 1)
        try program.send(.keyframe, attachment: other)
        #expect(throws: ChannelFailure.malformed) { _ = try host.fill() }
    }

    @Test(arguments: [[0, 1, 0x80, 1], [0xFF, 0xFF, 0xFF, 0xFF]] as [[UInt8]])
    func aLengthOverTheLimitIsRefusedBeforeItsBytesAreThere(_ length: [UInt8]) throws {
        let (a, b) = try #require(LocalConnection.pair())
        let host = HostEnd(a, takesAttachments: false)
        #expect(length.withUnsafeBytes { b.send($0) } == .done(4))
        #expect(try host.fill())
        #expect(throws: ChannelFailure.malformed) { try host.next() }
    }

    @Test(arguments: [
        SampleDescription.Format.i420(width: 3, height: 4, strideY: 4, strideC: 2),
        .i420(width: 4, height: 4, strideY: 3, strideC: 2), .i420(width: 4, height: 4, strideY: 4, strideC: 1),
        .i420(width: 1 << 40, height: 4, strideY: 1 << 40, strideC: 1 << 40), .pcm(track: .application, bytes: 3),
        .opus(track: .application, bytes: 0), .vp8(bytes: -1, isKeyframe: true, layer: 0, width: 2, height: 2),
    ])
    func impossibleSamplesHaveNoSize(_ format: SampleDescription.Format) {
        #expect(SampleDescription(memory: 1, slot: 0, format: format, time: 0).byteCount == nil)
    }
}

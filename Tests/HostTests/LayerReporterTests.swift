import MediaCore
import MediaEngine
import Testing

@testable import Admission
@testable import Host

@Suite struct LayerReporterTests {
    private static let layered = EncodingTarget(bitrate: .kilobits(900), layering: .init(baseBitrate: .kilobits(300)))
    private static let single = EncodingTarget(bitrate: .kilobits(900))
    /// A VP8 key frame of 64 x 48 pixels.
    private static let keyframe: [UInt8] = [0x10, 0, 0, 0x9D, 0x01, 0x2A, 64, 0, 48, 0]

    private func at(_ milliseconds: Int) -> MediaInstant { MediaInstant(nanoseconds: Int64(milliseconds) * 1_000_000) }

    private func note(_ reporter: inout LayerReporter, layer: UInt8 = 0, isKeyframe: Bool = false, at time: Int) {
        Self.keyframe.withUnsafeBytes {
            reporter.note(
                $0, FrameInfo(of: $0, isKeyframe: isKeyframe, layer: layer, captured: at(time)), now: at(time))
        }
    }

    private func update(
        _ reporter: inout LayerReporter, _ target: EncodingTarget, least: MediaDuration = .zero, at time: Int
    ) -> Int {
        _ = reporter.update(.init(main: target), forwarded: nil, least: least, now: at(time))
        return reporter[.main].report
    }

    @Test func layersAreToldWhenTheyComeOrGo() {
        var reporter = LayerReporter()
        note(&reporter, isKeyframe: true, at: 0)
        #expect(update(&reporter, Self.single, at: 0) == 1)
        #expect(reporter[.main].layers.map(\.target) == [.kilobits(900)])
        #expect(reporter[.main].layers.first?.size == PixelSize(width: 64, height: 48))
        // Once a second.
        #expect(update(&reporter, Self.layered, at: 500) == 1)
        // Without a frame of layer 1 yet.
        #expect(update(&reporter, Self.layered, at: 1_000) == 2)
        #expect(reporter[.main].layers.map(\.target) == [.kilobits(300), .kilobits(900)])
        note(&reporter, layer: 1, at: 1_500)
        // Bitrates 2 s after a change, and then each 10 s.
        #expect(update(&reporter, Self.layered, at: 2_000) == 2)
        note(&reporter, layer: 1, at: 2_900)
        #expect(update(&reporter, Self.layered, at: 3_000) == 3)
        for second in 4..<13 {
            note(&reporter, at: second * 1_000)
            #expect(update(&reporter, Self.layered, at: second * 1_000) == 3)
        }
        note(&reporter, at: 13_000)
        #expect(update(&reporter, Self.layered, at: 13_000) == 4)
        #expect(update(&reporter, Self.single, at: 14_000) == 5)
        #expect(reporter[.main].layers.count == 1)
    }

    @Test func manyViewersAreToldLessOften() {
        var reporter = LayerReporter()
        note(&reporter, at: 0)
        #expect(update(&reporter, Self.single, least: .seconds(20), at: 0) == 1)
        #expect(update(&reporter, Self.layered, least: .seconds(20), at: 19_999) == 1)
        #expect(update(&reporter, Self.layered, least: .seconds(20), at: 20_000) == 2)
    }

    @Test func aSelectionIsOfWhatThereIs() throws {
        var reporter = LayerReporter()
        note(&reporter, isKeyframe: true, at: 0)
        _ = update(&reporter, Self.layered, at: 0)
        let encoding = reporter[.main]
        func highest(_ change: (inout LayerSelection) -> Void) -> Result<Int?, OfferRefusal> {
            var selection = LayerSelection()
            change(&selection)
            return Result { () throws(OfferRefusal) in try encoding.highestLayer(for: selection, line: 1) }
        }
        #expect(try highest { _ in }.get() == nil)
        #expect(try highest { $0.mediaId = "1" }.get() == nil)
        #expect(try highest { $0.temporalLayerId = 1 }.get() == 1)
        #expect(try highest { ($0.temporalLayerId, $0.maxTemporalLayerId) = (1, 0) }.get() == 0)
        #expect(try highest { $0.maxTemporalLayerId = 7 }.get() == 7)
        #expect(try highest { ($0.maxWidth, $0.maxHeight, $0.maxSpatialLayerId) = (64, 48, 0) }.get() == nil)
        let refused: [(inout LayerSelection) -> Void] = [
            { $0.mediaId = "0" }, { $0.rid = "hd" }, { $0.spatialLayerId = 1 }, { $0.temporalLayerId = 2 },
            { $0.maxWidth = 63 }, { $0.maxHeight = 47 },
        ]
        for (index, change) in refused.enumerated() {
            #expect(throws: OfferRefusal.self, "\(index)") { try highest(change).get() }
        }
        // A session without video.
        #expect(throws: OfferRefusal.self) { try encoding.highestLayer(for: LayerSelection(), line: nil) }
    }
}

import Foundation
import NetworkBed
import TestSupport
import Testing

/// The real programs over an emulated link.
@Suite(.serialized) struct LinkTests {
    @Test func aFrameArrivesOver50MillisecondsAnd3Megabits() throws {
        let pair = try LinkedPair(LinkConditions(kilobits: 3_000, delayMilliseconds: 25))
        let host = try pair.host()
        let picture = pair.file("picture.png")
        let viewer = try pair.join(["--snapshot", picture])
        try viewer.event("first-picture", seconds: 15)
        let statistics = try viewer.reports(5)
        #expect(try #require(statistics.number("frames")) > 50)
        #expect(try #require(host.reports(1).number("roundTripMs")) >= 49)
        viewer.interrupt()
        #expect(viewer.exitCode() == 0)
        #expect(FileManager.default.fileExists(atPath: picture))
        host.interrupt()
        #expect(host.exitCode() == 0)
    }

    /// Independent losses, and losses in runs.
    @Test(arguments: [1.0, 4]) func fivePercentOfLossFreezesNothing(run: Double) throws {
        let pair = try LinkedPair(
            LinkConditions(kilobits: 10_000, delayMilliseconds: 25, lossPercent: 5, burstPackets: run))
        let host = try pair.host()
        let viewer = try pair.join()
        try viewer.event("first-picture")
        // The start, with its large key frame, has other limits.
        try viewer.reports(2)
        let early = viewer.events("statistics").count
        let statistics = try viewer.reports(15)
        let gaps = viewer.events("statistics").dropFirst(early).compactMap { $0.number("longestGapMs") }
        #expect(gaps.count >= 12)
        // One gap may be a suspension of the machine; losses occur in every second.
        #expect(try #require(gaps.sorted().dropLast().last) < 400, "\(gaps)")
        #expect(try #require(statistics.number("frames")) > 15 * 15)
        #expect(try #require(statistics.number("lost")) > 0)
        #expect(host.isRunning)
    }

    /// A scrolling terminal full of noise uses the whole bandwidth.
    @Test func aRateThatDropsFrom3To1MegabitsIsFollowed() throws {
        let pair = try LinkedPair(LinkConditions(kilobits: 3_000, queueMilliseconds: 500, delayMilliseconds: 25))
        let display = try VirtualDisplay()
        let noise = "while :; do head -c 300 /dev/urandom | base64 -w 0; sleep 0.1; done"
        let terminal = try Program(
            "xterm", ["-geometry", "150x45+0+0", "-e", "sh", "-c", noise], environment: ["DISPLAY": display.name])
        let host = try pair.host(display: display.name)
        let viewer = try pair.join()
        try viewer.event("first-picture", seconds: 15)
        try viewer.reports(8)
        try pair.link.set(
            LinkConditions(kilobits: 1_000, queueMilliseconds: 500, delayMilliseconds: 25), .forward)
        try viewer.reports(4)
        let first = try pair.link.figures(.forward)
        let before = try #require(try viewer.reports(1).number("frames"))
        let statistics = try viewer.reports(6)
        let last = try pair.link.figures(.forward)
        #expect(try #require(statistics.number("frames")) > before)
        #expect(last.bytesIn - first.bytesIn > 7 * 30_000, "hardly anything is sent")
        #expect(Double(last.overflowed - first.overflowed) < 0.05 * Double(last.packetsIn - first.packetsIn))
        #expect(last.longestQueueMilliseconds < 400)
        #expect(host.isRunning && terminal.isRunning)
    }
}

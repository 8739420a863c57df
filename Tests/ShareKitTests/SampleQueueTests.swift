import LinuxRuntime
import MediaCore
import Testing

@testable import ShareKit

/// The queue between a capture and its app.
@Suite(.timeLimit(.minutes(1)))
struct SampleQueueTests {
    private func audio(_ number: Int, isMicrophone: Bool = false) -> SampleBuffer {
        let nothing = UnsafeBufferPointer<Int16>(start: nil, count: 0)
        return SampleBuffer(
            isMicrophone ? .microphoneAudio(nothing) : .applicationAudio(nothing), time: .milliseconds(number)
        ) {}
    }

    private func popAll(_ queue: SampleQueue) -> [Duration] {
        var times: [Duration] = []
        while let sample = queue.waitAndPop() { times.append(sample.time) }
        return times
    }

    @Test func whatWaitsIsHandedOverAfterTheEnd() {
        let ends = Monitor<[ShareKitError?]>([])
        let queue = SampleQueue { failure in ends.change { $0.append(failure) } }
        for number in 0..<3 { queue.push(audio(number)) }
        queue.end(isDiscarding: false)
        queue.push(audio(9))
        queue.end(ShareKitError(.failed, "too late"), isDiscarding: false)
        #expect(popAll(queue) == [.milliseconds(0), .milliseconds(1), .milliseconds(2)])
        #expect(ends.with { $0 } == [nil] && queue.failure == nil)
    }

    @Test func discardedSamplesAreReleased() {
        let released = Monitor(0)
        let queue = SampleQueue { _ in }
        for _ in 0..<3 {
            queue.push(
                SampleBuffer(.applicationAudio(UnsafeBufferPointer(start: nil, count: 0)), time: .zero) {
                    released.change { $0 += 1 }
                })
        }
        queue.end(isDiscarding: false)
        #expect(released.with { $0 } == 0)
        queue.end(isDiscarding: true)
        #expect(released.with { $0 } == 3)
        #expect(popAll(queue).isEmpty)
    }

    @Test func eachTrackHoldsTenSeconds() {
        let ends = Monitor<[ShareKitError?]>([])
        let queue = SampleQueue { failure in ends.change { $0.append(failure) } }
        for number in 0..<SampleQueue.audioPackets {
            queue.push(audio(number))
            queue.push(audio(number, isMicrophone: true))
        }
        #expect(!queue.isEnded)
        // A place is free again.
        #expect(queue.waitAndPop()?.time == .zero)
        queue.push(audio(1))
        #expect(!queue.isEnded)
        queue.push(audio(2))
        #expect(queue.isEnded && queue.failure?.code == .overrun)
        #expect(ends.with { $0.map { $0?.code } } == [.overrun])
        #expect(popAll(queue).isEmpty)
    }

    @Test func roomIsForOneFrameThatWaitsAndThreeThatTheAppHas() throws {
        let queue = SampleQueue { _ in }
        let byte = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
        defer { byte.deallocate() }
        func push(_ number: Int) {
            queue.lend(number)
            let planes = SampleBuffer.VideoPlanes(
                width: 2, height: 2, y: UnsafePointer(byte), u: UnsafePointer(byte), v: UnsafePointer(byte), strideY: 2,
                strideC: 1)
            queue.push(SampleBuffer(.video(planes), time: .zero) { queue.takeBack(number) })
        }
        func hasRoom() -> Bool {
            let end = Monitor(false)
            let waiting = NamedThread("wait") {
                _ = queue.waitForRoom(notBefore: MonotonicClock.now)
                end.change { $0 = true }
            }
            defer { _ = waiting }
            return end.wait(until: MonotonicClock.now + .milliseconds(50)) { $0 ? true : nil } ?? false
        }
        #expect(hasRoom())
        push(1)
        #expect(!hasRoom())
        var kept = [try #require(queue.waitAndPop())]
        #expect(hasRoom())
        for number in 2...3 {
            push(number)
            kept.append(try #require(queue.waitAndPop()))
        }
        #expect(!hasRoom() && queue.isLent(1))
        kept.removeFirst()
        #expect(hasRoom() && !queue.isLent(1))
        queue.end(isDiscarding: true)
        #expect(!queue.waitForRoom(notBefore: .distantFuture))
    }

    @Test func aReaderSleepsUntilThereIsASample() async {
        let queue = SampleQueue { _ in }
        async let first = queue.pop()
        queue.push(audio(7))
        let time = await first?.time
        #expect(time == .milliseconds(7))
        async let second = queue.pop()
        queue.end(isDiscarding: false)
        let isOver = await second == nil
        #expect(isOver)
    }

    @Test func aCancelledReaderEndsTheQueue() async {
        let queue = SampleQueue { _ in }
        let reading = Task { await queue.pop() == nil }
        reading.cancel()
        #expect(await reading.value)
        #expect(queue.isEnded)
    }
}

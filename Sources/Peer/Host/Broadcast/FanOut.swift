import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection

/// Sends forwarded packets to many viewers, on several threads at a time if there are some. Confined to the network
/// loop, which waits for the threads: a viewer is touched by one thread at a time.
package final class FanOut {
    /// What one thread needs.
    private final class Worker {
        let batch = PacketBatch(capacity: 32)
        var delays = DelayHistogram()
    }

    /// When threads share the work.
    package struct Sharing: Sendable {
        /// With fewer viewers, that is 2 ms of work, waking other threads and moving the viewers' state to their
        /// processors costs more than it is worth.
        package var leastViewers = 128
        /// Viewers that a thread takes at a time: about 100 us of work.
        package var run = 16

        package init() {}
    }

    private var pool: ForkJoinPool?
    private let workers: [Worker]
    private let sharing: Sharing

    /// - Parameter threads: that of the loop is one of them.
    package init(threads: Int = 1, sharing: Sharing = Sharing()) {
        self.sharing = sharing
        let pool = threads > 1 ? ForkJoinPool(name: "send", width: threads) : nil
        self.pool = pool
        workers = (0..<(pool?.width ?? 1)).map { _ in Worker() }
    }

    /// Sends what the viewers' forwarded media has got. `PeerConnection.pump` is to follow for each of them.
    /// - Parameters:
    ///   - memory: what `ViewerPeer.forward` is going to use, as of the last time, by the place of the viewer. The
    ///     state of hundreds of viewers does not stay in the caches from one frame to the next.
    ///   - source: is told how long the packets of video could have been sent already.
    func send(
        to viewers: [ViewerPeer], now: MediaInstant, memory: inout [PrefetchList], delays source: ForwardedVideo?
    ) {
        while memory.count < viewers.count { memory.append(PrefetchList()) }
        memory.withUnsafeMutableBufferPointer { lists in
            // A local function cannot have an inout parameter of its surroundings.
            let lists = lists
            func send(_ item: Int, _ worker: Int) {
                // Another thread may have the first of the next run.
                if (item + 1) % sharing.run != 0, item + 1 < viewers.count { lists[item + 1].fetch() }
                viewers[item].forward(through: workers[worker].batch, delays: &workers[worker].delays, now: now)
                lists[item].removeAll()
                viewers[item].addMemory(to: &lists[item])
            }
            if let pool, viewers.count >= sharing.leastViewers {
                pool.run(viewers.count, by: sharing.run, send)
            } else {
                for item in viewers.indices { send(item, 0) }
            }
        }
        for worker in workers {
            source?.note(worker.delays)
            worker.delays.removeAll()
        }
    }

    /// Ends the further threads. What follows is sent by the loop's.
    package func stop() {
        pool?.stop()
        pool = nil
    }
}

/// The forwarded media of one broadcast, and the fan-out that sends it, which serves other broadcasts, too. Confined to
/// the network loop.
final class ForwardingOutput {
    let media: ForwardedMedia
    private let fanOut: FanOut
    /// See `FanOut.send`.
    private var memory: [PrefetchList] = []

    init(_ media: ForwardedMedia, _ fanOut: FanOut) {
        self.media = media
        self.fanOut = fanOut
    }

    func send(to viewers: [ViewerPeer], now: MediaInstant) {
        fanOut.send(to: viewers, now: now, memory: &memory, delays: media.video)
    }
}

import LinuxRuntime
import Synchronization
import Testing

/// A loop over items on several threads at a time.
@Suite struct ForkJoinPoolTests {
    @Test(arguments: [1, 2, 4]) func eachItemIsHandledOnceBeforeRunReturns(width: Int) {
        let pool = ForkJoinPool(name: "test", width: width)
        #expect(pool.width == width)
        for round in 1...200 {
            let count = round * 7 % 300
            var handled = [Int](repeating: 0, count: count)
            handled.withUnsafeMutableBufferPointer { handled in
                // SAFETY: each item is written by one thread.
                nonisolated(unsafe) let handled = handled
                pool.run(count, by: 4) { item, worker in
                    precondition((0..<width).contains(worker))
                    handled[item] += 1
                }
            }
            #expect(handled.allSatisfy { $0 == 1 })
        }
        pool.stop()
    }

    /// Two items wait for each other, so they end only if two threads handle them.
    @Test func itemsAreHandledAtTheSameTime() {
        let pool = ForkJoinPool(name: "test", width: 2)
        let met = Monitor((arrived: 0, workers: Set<Int>()))
        pool.run(2, by: 1) { _, worker in
            met.change { state in
                state.arrived += 1
                state.workers.insert(worker)
            }
            met.wait { $0.arrived == 2 ? () : nil }
        }
        #expect(met.with { $0.workers } == [0, 1])
        pool.stop()
    }

    @Test func fewItemsAreHandledByTheCaller() {
        let pool = ForkJoinPool(name: "test", width: 3)
        let workers = Monitor(Set<Int>())
        pool.run(16, by: 16) { _, worker in workers.change { _ = $0.insert(worker) } }
        #expect(workers.with { $0 } == [0])
        pool.stop()
        // A second stop does nothing.
        pool.stop()
    }
}

import ArgumentParser
import CommandSupport
import Host
import LinuxRuntime
import MediaCore
import PixelConversion
import TestSource
import WindowPlayout

/// The hidden command `paint`: shows the test video in a window, on the virtual display of a demo.
struct PaintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "paint", abstract: "Show the test video in a window.", shouldDisplay: false)

    func run() throws {
        let stopped = Monitor(false)
        let window: VideoWindow
        do throws(SourceFailure) {
            window = try VideoWindow(title: "share-lab demo", converter: YUVConverter(), startsFullscreen: true)
        } catch {
            throw CommandError(sentence: error.message, remedy: error.remedy, status: .noDisplay).report()
        }
        Signals.handle { _ in
            stopped.change { $0 = true }
            window.stop()
        }
        let painter = NamedThread("paint") {
            let picture = TestVideoSource()
            let canvas = I420Buffer(picture.size)
            var changed = BlockMap(picture.size, filled: true)
            while stopped.with({ !$0 }) {
                _ = picture.wait(until: nil)
                _ = picture.read(into: canvas, changed: &changed)
                window.show(canvas.frame)
            }
            picture.close()
        }
        _ = try? window.run()
        stopped.change { $0 = true }
        painter.join()
    }
}

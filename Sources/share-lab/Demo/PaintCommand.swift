import ArgumentParser
import CommandSupport
import Host
import LinuxRuntime
import MediaCore
import WindowPlayout

/// The hidden command `paint`: draws a desktop on the virtual display of a demo.
struct PaintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "paint", abstract: "Draw a desktop on a display.", shouldDisplay: false)

    func run() throws {
        let stopped = Monitor(false)
        Signals.handle { _ in stopped.change { $0 = true } }
        var desktop: DemoDesktop
        do throws(SourceFailure) {
            desktop = try DemoDesktop()
        } catch {
            throw CommandError(sentence: error.message, remedy: error.remedy, status: .noDisplay).report()
        }
        let begin = MonotonicClock.now
        var frame = 0
        while stopped.with({ !$0 }), desktop.draw(frame: frame) {
            frame += 1
            MonotonicClock.sleep(until: begin + .milliseconds(frame * 1_000 / DemoDesktop.framesPerSecond))
        }
    }
}

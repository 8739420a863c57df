import BusSupport
import Foundation
import LinuxRuntime
import MediaCore
import SessionBus
import TestSupport
import Testing

@testable import PortalCapture

extension PortalTests {
    @Suite struct QuestionTests {
        private func failure(_ bed: PortalBed) -> SourceFailure? {
            do throws(SourceFailure) {
                _ = try PortalWatcher.open(bed)
                return nil
            } catch {
                return error
            }
        }

        @Test func dismissedQuestionIsAFailureInWords() throws {
            let bed = try PortalBed(["answer dismiss"])
            let failure = failure(bed)
            #expect(failure?.code == .notPermitted)
            #expect(failure?.message.contains("dismissed") == true)
        }

        @Test func refusedQuestionIsAFailureInWords() throws {
            let bed = try PortalBed(["answer refuse"])
            #expect(failure(bed)?.message.contains("does not let") == true)
        }

        @Test func sessionWithoutAPortalIsAFailureInWords() throws {
            let bed = try PortalBed(hasPortal: false)
            let failure = failure(bed)
            #expect(failure?.code == .noDisplay)
            #expect(failure?.remedy.contains("xdg-desktop-portal") == true)
        }

        @Test func portalWithoutScreenCastsIsAFailureInWords() throws {
            let bed = try PortalBed(hasBackend: false)
            let failure = failure(bed)
            #expect(failure?.code == .noDisplay)
            #expect(failure?.message.contains("cannot share screens") == true)
        }

        @Test func missingBusIsAFailureInWords() throws {
            let bed = try PortalBed()
            bed.bus.kill()
            #expect(failure(bed)?.code == .noDisplay)
        }

        @Test func questionThatIsOpenEndsWithClose() throws {
            let bed = try PortalBed(["answer hang"])
            let tokens = ScreenCastPortal.TokenStore(load: { nil }, save: { _ in })
            let cast = ScreenCastPortal(address: bed.bus.address, tokens: tokens)
            let thread = NamedThread("closer") {
                _ = bed.hears("start asked")
                cast.close()
            }
            #expect { try cast.open(usesRestoring: true) } throws: { ($0 as? SourceFailure)?.code == .displayGone }
            thread.join()
        }

        @Test(arguments: [true, false])
        func questionThatIsOpenEndsWithTheBusAndThePortal(isBus: Bool) throws {
            let bed = try PortalBed(["answer hang"])
            let tokens = ScreenCastPortal.TokenStore(load: { nil }, save: { _ in })
            let cast = ScreenCastPortal(address: bed.bus.address, tokens: tokens)
            let thread = NamedThread("killer") {
                _ = bed.hears("start asked")
                if isBus { bed.bus.kill() } else { bed.killPortal() }
            }
            #expect { try cast.open(usesRestoring: true) } throws: { ($0 as? SourceFailure)?.code == .displayGone }
            thread.join()
        }

        @Test func desktopAsksOnce() throws {
            let token = Monitor<String?>(nil)
            let bed = try PortalBed()
            let first = try PortalWatcher(token: token, bed: bed)
            #expect(token.with { $0 } != nil)
            first.screen.close()
            #expect(bed.hears("session closed by the application"))
            let second = try PortalWatcher(token: token, bed: bed)
            #expect(bed.news.filter { $0.hasPrefix("start") } == ["start asked", "start restored"])
            #expect(token.with { $0 } != nil)
            second.screen.close()
        }
    }

    @Suite struct OutageTests {
        /// Paints after the source is back, and sees it.
        private func isBack(_ watcher: PortalWatcher) throws -> Bool {
            guard try watcher.update(until: { watcher.reports.with { $0 }.last == "the screen is shared again" }) else {
                return false
            }
            try watcher.bed.tell("fill 20c020 0 0 640 480")
            return try watcher.sees(0x20c020, x: 320, y: 240)
        }

        @Test func restartedPipeWireBringsThePictureBackWithoutAsking() throws {
            let watcher = try PortalWatcher()
            try watcher.bed.tell("fill c02020 0 0 640 480")
            #expect(try watcher.sees(0xc02020, x: 320, y: 240))
            watcher.bed.endPipeWire()
            #expect(try watcher.update { watcher.reports.with { $0 }.contains { $0.contains("PipeWire") } })
            #expect(watcher.shows(0xc02020, x: 320, y: 240), "the last picture stays")
            try watcher.bed.restartPipeWire()
            #expect(try isBack(watcher))
            #expect(watcher.bed.news.filter { $0.hasPrefix("start") } == ["start asked", "start restored"])
        }

        @Test func sourceThatVanishesComesBackWithoutAsking() throws {
            let watcher = try PortalWatcher()
            try watcher.bed.tell("drop")
            #expect(try isBack(watcher))
            #expect(watcher.bed.news.filter { $0.hasPrefix("start") } == ["start asked", "start restored"])
        }

        @Test func sourceThatVanishesAgainAndAgainIsAskedForMoreSlowly() throws {
            let watcher = try PortalWatcher()
            var times: [MediaInstant] = []
            for _ in 0..<4 {
                try watcher.bed.tell("drop")
                #expect(try isBack(watcher))
                times.append(MonotonicClock.now)
                watcher.reports.change { $0 = [] }
            }
            #expect(times[3] - times[2] > .milliseconds(1_000))
        }

        @Test func whatTheDesktopHasEndedIsAskedForAgain() throws {
            let watcher = try PortalWatcher()
            try watcher.bed.tell("close")
            #expect(try isBack(watcher))
            #expect(watcher.bed.news.filter { $0.hasPrefix("start") } == ["start asked", "start asked"])
        }

        @Test func whatTheUserDoesNotWantAgainStaysAway() throws {
            let watcher = try PortalWatcher()
            try watcher.bed.tell("fill c02020 0 0 640 480")
            #expect(try watcher.sees(0xc02020, x: 320, y: 240))
            try watcher.bed.tell("answer dismiss")
            try watcher.bed.tell("close")
            #expect(try watcher.update { watcher.reports.with { $0 }.last?.contains("dismissed") == true })
            #expect(try watcher.update(milliseconds: 300) == .woken)
            #expect(watcher.shows(0xc02020, x: 320, y: 240))
            #expect(watcher.bed.news.filter { $0.hasPrefix("start") } == ["start asked", "start asked"])
        }

        @Test func deadPortalDoesNotEndTheFrames() throws {
            let watcher = try PortalWatcher()
            watcher.bed.killPortal()
            try watcher.bed.tell("fill 20c020 0 0 640 480")
            #expect(try watcher.sees(0x20c020, x: 320, y: 240))
        }

        @Test func closingTwiceIsFine() throws {
            let watcher = try PortalWatcher()
            watcher.screen.close()
            watcher.screen.close()
            watcher.screen.wake()
            #expect(try watcher.update(milliseconds: 10) == .woken)
        }
    }
}

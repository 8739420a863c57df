import TestSupport
import Testing
import X11Capture

@Suite struct CaptureMarkTests {
    @Test func markIsSeenUntilItIsClosed() throws {
        let display = try VirtualDisplay(width: 320, height: 200)
        #expect(!CaptureMark.isPresent("ABC", display: display.name))
        let mark = try CaptureMark("ABC", display: display.name)
        let other = try CaptureMark("XYZ", display: display.name)
        #expect(CaptureMark.isPresent("ABC", display: display.name))
        #expect(CaptureMark.isPresent("XYZ", display: display.name))
        #expect(!CaptureMark.isPresent("AB", display: display.name))
        mark.close()
        mark.close()
        #expect(!CaptureMark.isPresent("ABC", display: display.name))
        other.close()
    }

    @Test func missingDisplayHasNoMark() {
        #expect(!CaptureMark.isPresent("ABC", display: ":4093"))
    }
}

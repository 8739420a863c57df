import TestSupport
import Testing
import X11Capture

@Suite struct DisplayCaptureMarkerTests {
    @Test func markIsSeenUntilItIsClosed() throws {
        let display = try VirtualDisplay(width: 320, height: 200)
        #expect(DisplayCaptureMarker.isPresent("ABC", display: display.name) == false)
        let mark = try DisplayCaptureMarker("ABC", display: display.name)
        let other = try DisplayCaptureMarker("XYZ", display: display.name)
        #expect(DisplayCaptureMarker.isPresent("ABC", display: display.name) == true)
        #expect(DisplayCaptureMarker.isPresent("XYZ", display: display.name) == true)
        #expect(DisplayCaptureMarker.isPresent("AB", display: display.name) == false)
        mark.close()
        mark.close()
        #expect(DisplayCaptureMarker.isPresent("ABC", display: display.name) == false)
        other.close()
    }

    @Test func missingDisplayHasNoMark() {
        #expect(DisplayCaptureMarker.isPresent("ABC", display: ":4093") == nil)
    }
}

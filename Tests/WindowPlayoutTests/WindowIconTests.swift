import MediaCore
import Testing
import WindowPlayout

@Suite struct WindowIconTests {
    @Test(arguments: [
        (0, 0, 0, false), (1, 1, 1, true), (256, 256, 65_536, true), (257, 1, 257, false), (16, 16, 255, false),
        (16, -16, 256, false),
    ])
    func anIconHasItsPixelsAndIsNotLarge(_ width: Int, _ height: Int, _ count: Int, _ isTaken: Bool) {
        let icon = WindowIcon(
            Array(repeating: 0xFFFF_0000, count: count), size: PixelSize(width: width, height: height))
        #expect((icon != nil) == isTaken)
    }
}

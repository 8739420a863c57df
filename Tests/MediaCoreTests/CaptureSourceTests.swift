import MediaCore
import Testing

@Suite struct CaptureSourceTests {
    @Test(
        arguments: [
            ("screen", .screen), ("portal", .portal), ("test", .test), ("camera:2", .camera(.number(2))),
            ("camera:Desk cam", .camera(.name("Desk cam"))),
            ("monitor:1", .monitor(.number(1))), ("monitor:DP-1", .monitor(.name("DP-1"))),
            ("window:0x3c00007", .window(.id(0x3c00007))), ("window:62914567", .window(.id(62_914_567))),
            ("window:Budget: draft", .window(.title("Budget: draft"))),
            ("region:1280x720+100+50", .region(PixelRect(x: 100, y: 50, width: 1280, height: 720))),
        ] as [(String, CaptureSource)])
    func textNamesTheSource(text: String, source: CaptureSource) throws {
        #expect(try CaptureSource(parsing: text) == source)
        #expect(try CaptureSource(parsing: source.text) == source)
    }

    @Test(arguments: [
        "", "desktop", "screen:1", "test:", "monitor", "monitor:", "monitor:0", "monitor:-1", "window", "window:",
        "camera", "camera:", "camera:-1", "camera:256", "region", "region:", "region:10x10",
        "region:10x10+1", "region:0x10+0+0", "region:10x0+0+0", "region:10x10-1+0", "region:axb+c+d",
        "region:10x10+1+2+3", "region:99999x10+0+0", "region:1x1+16384+0", "region:9999999999999999999999x1+0+0",
        "region:\u{0661}x1+0+0",
    ])
    func unclearTextIsRefusedInWords(text: String) {
        #expect { try CaptureSource(parsing: text) } throws: {
            ($0 as? CaptureSource.ParseFailure)?.description.isEmpty == false
        }
    }
}

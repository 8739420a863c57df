enum Chromium {
    static func find() -> String? { nil }
}
func measureChromium(_ program: String, _ scene: Scene, seconds: Int) throws -> Measurement { Measurement("Chromium", scene) }

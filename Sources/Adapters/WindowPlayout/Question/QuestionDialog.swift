import CSDL
import Glibc
import LinuxRuntime
public import MediaCore
import Synchronization

/// A window with a question: texts, terms that are scrolled, fields, choices and buttons. Its process shows nothing
/// else.
///
/// A key or a click counts only some time after the window has appeared, as before it was meant for something else.
/// Escape, and closing the window, refuse.
/// - Isolation: main thread.
public final class QuestionDialog {
    let question: WindowQuestion
    let window: OpaquePointer
    let font = TextFont()
    let layout: QuestionLayout
    private let begin = MonotonicClock.now
    var values: [String]
    var focus: QuestionLayout.Item?
    var hovered: QuestionLayout.Item?
    var offset = 0
    var isCopied = false
    private var answer: WindowAnswer?
    /// When the window was drawn first.
    var shown: MediaInstant?

    /// How long keys, and clicks, are ignored.
    private static let quietKeys = MediaDuration.milliseconds(700)
    private static let quietClicks = MediaDuration.milliseconds(200)
    /// The most bytes of a value.
    private static let valueLimit = 512
    private static let terms = 20_000

    /// Opens the window in the middle of the work area.
    /// - Throws: `.noDisplay` if there is no display.
    public init(title: String, _ question: WindowQuestion) throws(SourceFailure) {
        guard SDLLibrary.open(UInt32(SDL_INIT_VIDEO)) else {
            throw SourceFailure(.noDisplay, "No window can be opened: \(SDLLibrary.lastError).")
        }
        var question = question
        question.terms = question.terms.map { String($0.prefix(Self.terms)) }
        self.question = question
        values = question.fields.map(\.value)
        let area = WindowGeometry.workArea(display: 0)
        // The scale is known with a window only.
        guard
            let window = SDL_CreateWindow(
                title, Int32(area.x), Int32(area.y), 64, 36,
                SDL_WINDOW_HIDDEN.rawValue | SDL_WINDOW_ALWAYS_ON_TOP.rawValue)
        else {
            SDLLibrary.close(UInt32(SDL_INIT_VIDEO))
            throw SourceFailure(.noDisplay, "No window can be opened: \(SDLLibrary.lastError).")
        }
        self.window = window
        layout = QuestionLayout(
            question, in: PixelSize(width: area.width, height: area.height), scale: OverlayLayout.scale(of: window),
            font: font)
        if let display = csdl_x11_display(window) { SDLLibrary.surviveDisplayLoss(display) }
        csdl_x11_survive_errors()
        SDL_SetWindowSize(window, Int32(layout.size.width), Int32(layout.size.height))
        SDL_SetWindowPosition(
            window, Int32(area.x + (area.width - layout.size.width) / 2),
            Int32(area.y + (area.height - layout.size.height) / 2))
        WindowIcon.share.set(window)
        // Viewers need not see who knocks.
        csdl_x11_exclude_from_capture(window)
        if !question.fields.isEmpty {
            focus = .field(0)
            SDL_StartTextInput()
        } else {
            SDL_StopTextInput()
        }
        SDL_ShowWindow(window)
    }

    deinit {
        guard !SDLLibrary.isDisplayGone.load(ordering: .acquiring) else { return }
        SDL_DestroyWindow(window)
        SDLLibrary.close(UInt32(SDL_INIT_VIDEO))
    }

    /// Shows the window until the question is answered, or its time is over.
    /// - Returns: nil if its time is over, or the display is gone.
    public func run() -> WindowAnswer? {
        var lastSecond = -1
        draw()
        while answer == nil, !SDLLibrary.isDisplayGone.load(ordering: .acquiring) {
            var event = SDL_Event()
            var isChanged = false
            if SDL_WaitEventTimeout(&event, 250) != 0 {
                repeat { isChanged = handle(event) || isChanged } while SDL_PollEvent(&event) != 0
            }
            if let left = secondsLeft {
                if left <= 0 { return nil }
                isChanged = isChanged || left != lastSecond
                lastSecond = left
            }
            if isChanged, answer == nil { draw() }
        }
        return answer
    }

    var secondsLeft: Int? {
        question.seconds.map { $0 - Int((MonotonicClock.now - begin).inSeconds) }
    }

    private func isQuiet(_ time: MediaDuration) -> Bool { shown.map { MonotonicClock.now < $0 + time } ?? true }

    // MARK: Events

    /// - Returns: whether the window has to be drawn anew.
    private func handle(_ event: SDL_Event) -> Bool {
        switch SDL_EventType(event.type) {
        case SDL_QUIT: refuse()
        case SDL_KEYDOWN: return handleKey(event.key.keysym)
        case SDL_TEXTINPUT:
            guard !isQuiet(Self.quietKeys), case .field(let index)? = focus else { return false }
            insert(text(of: event.text), index)
        case SDL_MOUSEWHEEL: scroll(by: -Int(event.wheel.y) * Int(48 * layout.scale))
        case SDL_MOUSEMOTION:
            let item = layout.item(x: Int(event.motion.x), y: Int(event.motion.y), offset: offset)
            defer { hovered = item }
            return item != hovered
        case SDL_MOUSEBUTTONDOWN where event.button.button == 1:
            guard !isQuiet(Self.quietClicks),
                let item = layout.item(x: Int(event.button.x), y: Int(event.button.y), offset: offset)
            else { return false }
            focus = item
            if case .field = item { return true }
            press(item)
        case SDL_WINDOWEVENT: break
        default: return false
        }
        return true
    }

    private func handleKey(_ key: SDL_Keysym) -> Bool {
        let code = Int(key.sym)
        if code == Int(SDLK_ESCAPE.rawValue) {
            if !isQuiet(Self.quietKeys) { refuse() }
            return false
        }
        switch code {
        case Int(SDLK_TAB.rawValue): moveFocus(by: key.mod & UInt16(KMOD_SHIFT.rawValue) != 0 ? -1 : 1)
        case Int(SDLK_PAGEDOWN.rawValue): scroll(by: (layout.scrolled?.place.height ?? 0) * 8 / 10)
        case Int(SDLK_PAGEUP.rawValue): scroll(by: -(layout.scrolled?.place.height ?? 0) * 8 / 10)
        case Int(SDLK_DOWN.rawValue), Int(SDLK_UP.rawValue): moveFocus(by: code == Int(SDLK_DOWN.rawValue) ? 1 : -1)
        case Int(SDLK_RETURN.rawValue), Int(SDLK_KP_ENTER.rawValue):
            guard !isQuiet(Self.quietKeys), let focus else { return false }
            // In a field it leads on, to what is missing or to the last button.
            if case .field = focus { moveFocus(by: 1) } else { press(focus) }
        case Int(SDLK_BACKSPACE.rawValue):
            if case .field(let index)? = focus, !values[index].isEmpty { values[index].removeLast() }
        case Int(SDLK_v.rawValue) where key.mod & UInt16(KMOD_CTRL.rawValue) != 0:
            guard case .field(let index)? = focus, let pasted = SDL_GetClipboardText() else { return false }
            insert(String(cString: pasted), index)
            SDL_free(pasted)
        default: return false
        }
        return true
    }

    private func text(of event: SDL_TextInputEvent) -> String {
        withUnsafeBytes(of: event.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    private func insert(_ text: String, _ index: Int) {
        let text = String(text.unicodeScalars.filter { $0.value >= 32 && $0.value != 127 })
        if values[index].utf8.count + text.utf8.count <= Self.valueLimit { values[index] += text }
    }

    private func moveFocus(by step: Int) {
        let order = layout.items.map(\.item).filter { $0 != .copy }
        let buttons = order.filter { if case .button = $0 { true } else { false } }.reversed()
        let others = order.filter { if case .button = $0 { false } else { true } }
        let all = others + buttons
        guard !all.isEmpty else { return }
        let place = focus.flatMap { all.firstIndex(of: $0) }.map { $0 + step } ?? (step > 0 ? 0 : all.count - 1)
        focus = all[(place + all.count) % all.count]
        if case .choice = focus, let place = layout.items.first(where: { $0.item == focus })?.place { reveal(place) }
    }

    private func reveal(_ place: PixelRect) {
        guard let area = layout.scrolled?.place else { return }
        if place.y - offset < area.y { scroll(by: place.y - offset - area.y) }
        if place.maxY - offset > area.maxY { scroll(by: place.maxY - offset - area.maxY) }
    }

    private func scroll(by pixels: Int) {
        guard let (place, height) = layout.scrolled else { return }
        offset = min(max(offset + pixels, 0), max(height - place.height, 0))
    }

    // MARK: Answers

    private func refuse() { answer = WindowAnswer(button: 0, isPressed: false) }

    private func press(_ item: QuestionLayout.Item) {
        switch item {
        case .field: break
        case .choice(let index): answer = WindowAnswer(choice: index)
        case .copy:
            if let text = question.copied { isCopied = SDL_SetClipboardText(text) == 0 }
        case .button(0): answer = WindowAnswer(button: 0)
        case .button(let index):
            // What is asked for has to be there.
            if let missing = values.firstIndex(of: "") {
                focus = .field(missing)
                return
            }
            let named = zip(question.fields.map(\.name), values)
            answer = WindowAnswer(button: index, values: Dictionary(named) { $1 })
        }
    }
}

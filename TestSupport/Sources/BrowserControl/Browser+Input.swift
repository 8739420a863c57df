extension Browser {
    /// What a user does with mouse and keyboard. Places are in the page's pixels.
    package enum Action: Sendable {
        case move(x: Int, y: Int)
        /// 0: left, 1: middle, 2: right, as `MouseEvent.button`.
        case press(button: Int)
        case release(button: Int)
        /// In pixels of the page.
        case scroll(down: Int)
        case pressKey(Key)
        case releaseKey(Key)
        /// Characters that come from no key, as from an input method. Chromium alone.
        case insert(String)
    }

    /// A key of the keyboard, as a US layout has it.
    package enum Key: Sendable {
        case character(Character)
        case shift, control, rightControl, enter, tab, escape, f1

        /// `KeyboardEvent.key` and `code`, the location, the virtual key of Windows, and WebDriver's character.
        fileprivate var description: (key: String, code: String, location: Int, virtual: Int, driver: String) {
            switch self {
            case .character(let character):
                let upper = character.uppercased()
                let value = Int(upper.unicodeScalars.first?.value ?? 0)
                return (String(character), character.isLetter ? "Key\(upper)" : "", 0, value, String(character))
            case .shift: return ("Shift", "ShiftLeft", 1, 16, "\u{E008}")
            case .control: return ("Control", "ControlLeft", 1, 17, "\u{E009}")
            case .rightControl: return ("Control", "ControlRight", 2, 17, "\u{E051}")
            case .enter: return ("Enter", "Enter", 0, 13, "\u{E007}")
            case .tab: return ("Tab", "Tab", 0, 9, "\u{E004}")
            case .escape: return ("Escape", "Escape", 0, 27, "\u{E00C}")
            case .f1: return ("F1", "F1", 0, 112, "\u{E031}")
            }
        }

        /// The bit in the events of Chromium's protocol while it is down.
        fileprivate var modifier: Int {
            switch self {
            case .shift: 8
            case .control, .rightControl: 2
            default: 0
            }
        }
    }

    /// Does this with trusted events, one after the other.
    package func act(_ actions: [Action]) async throws {
        switch kind {
        case .chromium: try await actInChromium(actions)
        case .firefox: try await actInFirefox(actions)
        }
    }

    private func actInChromium(_ actions: [Action]) async throws {
        var (x, y, pressed, modifiers) = (0, 0, Set<Int>(), 0)
        let names = ["left", "middle", "right"]
        // Bits of MouseEvent.buttons.
        let bits = [1, 4, 2]
        func mouse(_ type: String, _ more: [String: JSON]) async throws {
            let event: [String: JSON] = [
                "type": .string(type), "x": .number(Double(x)), "y": .number(Double(y)),
                "buttons": .number(Double(pressed.reduce(0) { $0 | bits[$1] })),
            ]
            try await callPage("Input.dispatchMouseEvent", .object(event.merging(more) { $1 }))
        }
        func key(_ key: Key, isPressed: Bool) async throws {
            let (name, code, location, virtual, _) = key.description
            if isPressed { modifiers |= key.modifier } else { modifiers &= ~key.modifier }
            var event: [String: JSON] = [
                "modifiers": .number(Double(modifiers)),
                "type": isPressed ? "keyDown" : "keyUp", "key": .string(name), "code": .string(code),
                "location": .number(Double(location)), "windowsVirtualKeyCode": .number(Double(virtual)),
            ]
            if isPressed, case .character = key { event["text"] = .string(name) }
            try await callPage("Input.dispatchKeyEvent", .object(event))
        }
        for action in actions {
            switch action {
            case .move(let newX, let newY):
                (x, y) = (newX, newY)
                let held = pressed.min().map { names[$0] } ?? "none"
                try await mouse("mouseMoved", ["button": .string(held)])
            case .press(let button):
                pressed.insert(button)
                try await mouse("mousePressed", ["button": .string(names[button]), "clickCount": 1])
            case .release(let button):
                pressed.remove(button)
                try await mouse("mouseReleased", ["button": .string(names[button]), "clickCount": 1])
            case .scroll(let down): try await mouse("mouseWheel", ["deltaX": 0, "deltaY": .number(Double(down))])
            case .pressKey(let pressedKey): try await key(pressedKey, isPressed: true)
            case .releaseKey(let releasedKey): try await key(releasedKey, isPressed: false)
            case .insert(let text): try await callPage("Input.insertText", ["text": .string(text)])
            }
        }
    }

    private func actInFirefox(_ actions: [Action]) async throws {
        for action in actions {
            let (source, step): (String, [String: JSON]) =
                switch action {
                case .move(let x, let y):
                    ("mouse", ["type": "pointerMove", "x": .number(Double(x)), "y": .number(Double(y))])
                case .press(let button): ("mouse", ["type": "pointerDown", "button": .number(Double(button))])
                case .release(let button): ("mouse", ["type": "pointerUp", "button": .number(Double(button))])
                case .scroll(let down):
                    (
                        "wheel",
                        ["type": "scroll", "x": 640, "y": 360, "deltaX": 0, "deltaY": .number(Double(down))]
                    )
                case .pressKey(let key): ("keys", ["type": "keyDown", "value": .string(key.description.driver)])
                case .releaseKey(let key): ("keys", ["type": "keyUp", "value": .string(key.description.driver)])
                case .insert: throw Failure(description: "Firefox inserts no text")
                }
            var device: [String: JSON] = ["id": .string(source), "actions": .array([.object(step)])]
            device["type"] = source == "mouse" ? "pointer" : source == "keys" ? "key" : "wheel"
            try await callPage("input.performActions", ["actions": .array([.object(device)])])
        }
    }
}

#!/usr/bin/env python3
"""Writes manual pages (man(7)) of a program and its verbs from what it says with --experimental-dump-help.

usage: PROGRAM --experimental-dump-help | manual.py FOLDER VERSION DATE [--only VERB | --without VERB]

A page a verb: share-host.1; verbs of a verb are sections of its page. --only: the page of this verb alone.
"""
import json
import os
import re
import sys


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def paragraphs(text):
    """Text of a help page: paragraphs, and lines in columns, which stay as they are."""
    lines = []
    for block in re.split(r"\n{2,}", text.strip("\n")):
        if re.search(r"\S {2,}\S", block) or re.search(r"^ +\S", block, re.MULTILINE):
            lines += [".PP", ".nf", escaped(block), ".fi"]
        else:
            lines += [".PP", escaped(" ".join(block.split()))]
    return lines


def spelled(name):
    return ("--" if name["kind"] == "long" else "-") + name["name"]


def value(argument):
    return argument.get("valueName", "")


def tag(argument):
    if argument["kind"] == "positional":
        return "\\fI%s\\fR" % escaped(value(argument))
    names = sorted(argument["names"], key=lambda name: name["kind"] == "long")
    text = ", ".join("\\fB%s\\fR" % escaped(spelled(name)) for name in names)
    if argument["kind"] == "option":
        text += " \\fI%s\\fR" % escaped(value(argument))
    return text


def described(argument):
    text = argument.get("abstract", "")
    if argument.get("discussion"):
        text += "\n" + argument["discussion"]
    values = argument.get("allValues")
    if values:
        text += "\nValues: %s." % ", ".join(values)
    if argument.get("defaultValue"):
        text += "\nDefault: %s." % argument["defaultValue"]
    return escaped(" ".join(text.split()))


def shown(arguments):
    return [argument for argument in arguments if argument["shouldDisplay"]]


def options(arguments):
    lines, title = [], None
    listed = [argument for argument in shown(arguments) if argument["kind"] != "positional"]
    order = {}
    for argument in listed:
        order.setdefault(argument.get("sectionTitle"), []).append(argument)
    for title, group in order.items():
        if title:
            lines.append(".SS %s" % escaped(title))
        for argument in group:
            lines += [".TP", tag(argument), described(argument)]
    return lines


def synopsis(words, command):
    text = "\\fB%s\\fR" % escaped(" ".join(words))
    if any(argument["kind"] != "positional" for argument in shown(command.get("arguments", []))):
        text += " [\\fIoptions\\fR]"
    for argument in shown(command.get("arguments", [])):
        if argument["kind"] == "positional":
            name = "\\fI%s\\fR" % escaped(value(argument)) + (" ..." if argument["isRepeating"] else "")
            text += " [%s]" % name if argument["isOptional"] else " %s" % name
    return text


def verbs(command):
    return [verb for verb in command.get("subcommands", []) if verb.get("shouldDisplay", True) and verb["commandName"] != "help"]


def page(words, command, version, date, others):
    title = "-".join(words)
    lines = [
        '.\\" Written by Packaging/manual.py from the program\'s own help.',
        '.TH %s 1 "%s" "share %s" "User commands"' % (escaped(title.upper()), date, version),
        ".SH NAME",
        "%s \\- %s" % (escaped(title), escaped(first_line(command["abstract"]))),
        ".SH SYNOPSIS",
        synopsis(words, command),
    ]
    for verb in verbs(command):
        if len(words) > 1:
            lines += [".br", synopsis(words + [verb["commandName"]], verb)]
    if command.get("discussion"):
        lines += [".SH DESCRIPTION"] + paragraphs(command["discussion"])
    own = options(command.get("arguments", []))
    positional = [argument for argument in shown(command.get("arguments", [])) if argument["kind"] == "positional"]
    if positional:
        lines.append(".SH ARGUMENTS")
        for argument in positional:
            lines += [".TP", tag(argument), described(argument)]
    if own:
        lines += [".SH OPTIONS"] + own
    if len(words) == 1 and verbs(command):
        lines.append(".SH VERBS")
        for verb in verbs(command):
            lines += [".TP", "\\fB%s\\fR(1)" % escaped("%s-%s" % (title, verb["commandName"])),
                      escaped(first_line(verb["abstract"]))]
    else:
        for verb in verbs(command):
            name = " ".join(words + [verb["commandName"]])
            lines += [".SH %s" % escaped(name.upper()), escaped(first_line(verb["abstract"]))]
            if verb.get("discussion"):
                lines += paragraphs(verb["discussion"])
            for argument in shown(verb.get("arguments", [])):
                lines += [".TP", tag(argument), described(argument)]
    if others:
        lines += [".SH SEE ALSO", ", ".join("\\fB%s\\fR(1)" % escaped(other) for other in others)]
    return "\n".join(lines) + "\n"


def first_line(text):
    return " ".join(text.split("\n\n")[0].split()).rstrip(".")


def main():
    folder, version, date = sys.argv[1:4]
    choice = sys.argv[4:]
    command = json.load(sys.stdin)["command"]
    program = command["commandName"]
    os.makedirs(folder, exist_ok=True)

    def write(words, command, others):
        with open(os.path.join(folder, "-".join(words) + ".1"), "w", encoding="utf-8") as file:
            file.write(page(words, command, version, date, others))

    for verb in verbs(command):
        name = verb["commandName"]
        if choice in ([], ["--only", name]) or choice[0] == "--without" and choice[1] != name:
            write([program, name], verb, [program])
    if choice[:1] != ["--only"]:
        write([program], command, [])


if __name__ == "__main__":
    main()

/** JSON for lines that people read in a terminal. */

/** Characters that JSON leaves as they are, and that a terminal or a reader of lines may obey. */
const unsafe = /[\u007f-\u009f\u2028\u2029]/g

/** The value as JSON on one line, without any control character. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(unsafe, escaped)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

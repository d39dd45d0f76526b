/** Headers as they are sent. */

export type SentHeaders = Readonly<Record<string, string | readonly string[]>>

/** Names and values alternating: a header with several values is sent as several lines. */
export function headerLines(headers: SentHeaders): string[] {
  return Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().flatMap(value => [name, value]),
  )
}

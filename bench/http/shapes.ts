/** The shapes in which clients come: so many connections, with so many requests at once on each.
 *  Over HTTP/1.1 the second number is how many requests are sent before the first is answered. */

export interface Shape {
  readonly clients: number
  readonly streams: number
}

export const shapes: readonly Shape[] = [
  { clients: 8, streams: 1 },
  { clients: 64, streams: 1 },
  { clients: 500, streams: 1 },
  { clients: 16, streams: 8 },
  { clients: 4, streams: 64 },
]

export function shapeText({ clients, streams }: Shape): string {
  return `${clients}x${streams}`
}

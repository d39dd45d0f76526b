/** The room that V8 has for new objects: imported before all else, it keeps V8 from letting it
 *  grow.
 *
 *  By itself it is two halves of 16 MB within the first second. Of what we make little is alive at
 *  any moment, so a small one costs no time, each of its collections is short, and the process has
 *  a fifth less memory under load (bench/README.md, "Where memory has its plateau"). Face threads
 *  have more under way, and the flag would be theirs, too: they have it grow. */

import { setFlagsFromString } from 'node:v8'

/** The room is so many times as large after V8 has let it grow. */
const usualGrowth = 2
const noGrowth = 1

/** Whoever has started Node with a size has it. */
const isChosen = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].some(text =>
  /semi[-_]space/.test(text),
)

if (!isChosen) growBy(noGrowth)

/** From now on, as V8 does by itself. */
export function letNewObjectsGrow(): void {
  growBy(usualGrowth)
}

function growBy(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`)
}

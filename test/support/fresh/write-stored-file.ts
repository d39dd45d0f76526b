/** Writes lib/simulator/fresh/stored.json anew. */

import { writeFileSync } from 'node:fs'
import { storedRows, storedText } from './stored-file.ts'

const ends: (() => unknown)[] = []
const stored = await storedRows({ teardown: end => void ends.push(end as () => unknown) })
writeFileSync('lib/simulator/fresh/stored.json', storedText(stored))
for (const end of ends) await end()

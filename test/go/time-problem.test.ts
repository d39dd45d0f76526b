import { readFileSync } from 'node:fs'
import t from 'tap'
import { hasMicros, momentFromText } from '../../lib/go/time.ts'
import { timeProblem } from '../../lib/go/time-problem.ts'

/** A text, and what Go's time.Parse says of it as a Time and as a MicroTime; nothing if it is
 *  one. */
type Row = readonly [text: string, asTime: string, asMicroTime: string]

// The compiled test is in dist; its data is not.
const file = new URL('../../../test/go/x509/time-problems.json', import.meta.url)
const rows = JSON.parse(readFileSync(file, 'utf8')) as readonly Row[]

t.test('what is no time is refused in the words of Go, and what is one is not', async t => {
  for (const [text, asTime, asMicroTime] of rows) {
    t.equal(momentFromText(text) === undefined ? timeProblem(text, false) : '', asTime, text)
    const isMicroTime = hasMicros(text) && momentFromText(text) !== undefined
    t.equal(isMicroTime ? '' : timeProblem(text, true), asMicroTime, text)
  }
})

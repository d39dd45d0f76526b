/** The rules of validation, each by itself: rows/ has tables of what is set in a right object and
 *  which errors come. Rows that are `recorded` have the texts that a kube-apiserver 1.36 gave. */

import { readFileSync, readdirSync } from 'node:fs'
import t from 'tap'
import { type Checked, errorsOf } from '../../support/rules/validated.ts'
import { type Row, rowsOf, withSettings } from '../../support/rules/table.ts'

const folder = 'test/writes/validation/rows'
const bases = JSON.parse(readFileSync(`${folder}/bases.json`, 'utf8')) as Record<string, Checked>

const tables = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.rows'))
  .sort()
  .map(name => ({ name, rows: rowsOf(name, readFileSync(`${folder}/${name}`, 'utf8')) }))

function baseOf({ name, base }: Row): Checked {
  const found = bases[base]
  if (found === undefined) throw new Error(`${name}: bases.json has no ${base}`)
  return found
}

async function textsOf(row: Row): Promise<string[]> {
  const { path, object } = baseOf(row)
  const old = row.isUpdate ? withSettings(object, row.setsBefore) : undefined
  const changed = withSettings(old ?? object, row.sets)
  const errors = await errorsOf({ path, object: changed, old, subresource: row.subresource })
  return errors.map(({ field, message }) => `${field}: ${message}`).sort()
}

for (const { name, rows } of tables) {
  t.test(`${name}: ${rows.length} rows`, async t => {
    for (const row of rows) {
      const texts = await textsOf(row)
      const expected = [...row.expected].sort()
      if (texts.join('\n') !== expected.join('\n')) t.strictSame(texts, expected, row.name)
    }
    t.ok(rows.length > 0)
  })
}

t.test('the objects that rows change are right', async t => {
  const used = new Set(tables.flatMap(({ rows }) => rows.map(({ base }) => base)))
  for (const [name, { path, object }] of Object.entries(bases)) {
    t.ok(used.has(name), `${name} has rows`)
    const old = name.includes('.stored') ? object : undefined
    t.strictSame(await errorsOf({ path, object, old }), [], name)
  }
})
t.test('each function that says what is wrong has rows that name it', async t => {
  const named = new Map(
    tables.map(({ name, rows }) => [name.slice(0, -5), new Set(rows.map(({ rule }) => rule))]),
  )
  const filesIn = (room: string): string[] =>
    readdirSync(`lib/writes/${room}`, { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts') && file !== 'place.ts')
      .map(file => `${room}/${file}`)
  const missing = [...filesIn('validation'), ...filesIn('kinds')].flatMap(file => {
    const rows = named.get(file.replace(/^validation\//, '').slice(0, -3))
    return rulesOf(readFileSync(`lib/writes/${file}`, 'utf8'))
      .filter(rule => rows?.has(rule) !== true)
      .map(rule => `${file}: ${rule}`)
  })
  t.strictSame(missing, [])
})

/** The functions of a module that report errors themselves. */
function rulesOf(text: string): string[] {
  const reports =
    /\.(?:invalid|invalidFor|invalidName|textOneOf|invalidPlainly|required|forbidden|duplicate|duplicateOf|notFound|notSupported|tooLong|tooMany|notNegative|oneOf|mustBe)\(/
  const functions = text.matchAll(/^(?:export )?function (\w+)[^]*?^\}/gm)
  return [...functions].filter(([body]) => reports.test(body)).map(([, name = '']) => name)
}

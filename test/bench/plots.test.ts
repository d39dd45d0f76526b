import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { isMet } from '../../bench/bench.ts'
import { barChart, figureText } from '../../bench/plots/bars.ts'
import { cellsBelow, cellsOf, pageWith } from '../../bench/plots/page.ts'
import { formula } from '../../bench/sizing/report.ts'
import { plotsOf, type SavedResult } from '../../bench/plots/plots.ts'

const folder = 'bench/results'

t.test('the plots are those of the results', async t => {
  const results = readdirSync(folder)
    .filter(name => name.endsWith('.json'))
    .sort()
    .map(name => JSON.parse(readFileSync(`${folder}/${name}`, 'utf8')) as SavedResult)
  const plots = plotsOf(results)
  t.ok(plots.has('overview.svg'))
  for (const [name, svg] of plots) {
    t.equal(readFileSync(`${folder}/${name}`, 'utf8'), svg, `${name}: npm run plots writes it`)
  }
  const shown = readdirSync(folder).filter(name => name.endsWith('.svg'))
  t.strictSame(shown.toSorted(), [...plots.keys()].sort(), 'and no plot is left over')
})

t.test('a bar is as long as its value is to the largest of its group', async t => {
  const bars = [
    { label: 'a < b', value: 50, isOurs: true },
    { label: 'c', value: 100, isOurs: false },
  ]
  const svg = barChart([{ title: 'x & y', unit: 'ms', bars }], 'caption')
  t.match(svg, /class="ours" x="250" y="40" width="180\.0"/)
  t.match(svg, /class="other" x="250" y="64" width="360\.0"/)
  t.match(svg, />a &lt; b</)
  t.match(svg, />x &amp; y</)
  t.match(svg, />50 ms</)
})

t.test('figures have three digits that count', async t => {
  t.strictSame([1234.5, 123.45, 12.345, 0.1234].map(figureText), ['1,235', '123', '12.3', '0.12'])
})

t.test(
  'docs/SIZING.md has the rows that were measured, and the formula that fits them',
  async t => {
    const page = readFileSync('docs/SIZING.md', 'utf8')
    const { tables, floors } = JSON.parse(
      readFileSync(`${folder}/sizing.json`, 'utf8'),
    ) as SavedResult
    t.equal(tables.length, 4)
    for (const table of tables) {
      t.strictSame(cellsBelow(page, table.title), cellsOf(table), `${table.title}: npm run plots`)
    }
    t.ok(floors.length > 0 && floors.every(isMet))
    const { baseBytes, objectBytes, listsMaxBytes } = formula
    t.match(page, `${baseBytes / 2 ** 20} MiB + objects × (${objectBytes} bytes + stored bytes)`)
    t.match(page, `${listsMaxBytes / 2 ** 30} GiB at most`)
  },
)

t.test('a table in a page is replaced, and nothing beside it', t => {
  const page = 'Before\n\n### Sizes\n\n| old |\n| --- |\n| 1 |\n\n### After\n\n| kept |\n'
  const table = { title: 'Sizes', columns: ['kind', 'objects'], rows: [['pods', 10_000]] }
  const written = pageWith(page, [table])
  t.equal(
    written,
    'Before\n\n### Sizes\n\n| kind | objects |\n| --- | ---: |\n| pods | 10,000 |\n\n### After\n\n| kept |\n',
  )
  t.strictSame(cellsBelow(written, 'Sizes'), [['pods', '10,000']])
  t.throws(() => pageWith('', [table]), /no heading "Sizes"/)
  t.end()
})

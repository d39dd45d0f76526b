/** The style of the page, light and dark. It is in the page itself: nothing is fetched from
 *  anywhere. */

export const style: string = `
:root {
  color-scheme: light dark;
  --ground: #f5f7f9; --card: #fff; --ink: #17202a; --soft: #566573; --edge: #dfe4e9; --grid: #e8ecf0;
  --one: #0b7a75; --two: #d9622b; --three: #5b5fc7; --four: #b03a75; --five: #8a6d00;
  --good: #0b6b3a; --good-bg: #e0f4e8; --bad: #a61b1b; --bad-bg: #fde8e6; --warn: #7a4b00; --warn-bg: #fdf0d2;
  --calm: #44505c; --calm-bg: #e9edf1; --focus: #1d6fd1;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0f1419; --card: #182028; --ink: #e6ebf0; --soft: #9aa8b5; --edge: #2a343f; --grid: #25303a;
    --one: #3cc8bf; --two: #ff9a5c; --three: #9ea2ff; --four: #f083b5; --five: #e0c04a;
    --good: #7fe0a8; --good-bg: #12351f; --bad: #ffa39b; --bad-bg: #451715; --warn: #ffd27a; --warn-bg: #3d2c07;
    --calm: #b8c4cf; --calm-bg: #26313b; --focus: #6fb0ff;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
header, main, footer { max-width: 1180px; margin: 0 auto; padding: 0 20px; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 14px; padding-top: 22px; padding-bottom: 6px; }
header svg { width: 34px; height: 34px; flex: none; }
h1 { font-size: 22px; margin: 0; letter-spacing: -0.01em; }
header .soft { margin: 0; }
header .live { margin-left: auto; display: flex; align-items: center; gap: 10px; }
h2 { font-size: 18px; margin: 34px 0 2px; letter-spacing: -0.01em; }
h3 { font-size: 14px; margin: 0; }
p { margin: 0 0 8px; }
section > p.soft { max-width: 78ch; }
.soft { color: var(--soft); font-size: 13px; }
code { font: 12.5px/1.4 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
data, td.figure, .cards strong, .legend b { font-variant-numeric: tabular-nums; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 12px; top: 8px; background: var(--card); padding: 6px 12px; border-radius: 8px; z-index: 2; }
nav { width: 100%; }
nav ul { display: flex; flex-wrap: wrap; gap: 4px 16px; list-style: none; padding: 0; margin: 4px 0 0; font-size: 13px; }
nav a { color: var(--soft); text-decoration: none; display: inline-block; padding: 4px 0; }
nav a:hover { color: var(--ink); text-decoration: underline; }
.card { background: var(--card); border: 1px solid var(--edge); border-radius: 12px; padding: 14px 16px; margin: 8px 0; }
.state { display: block; border-radius: 12px; padding: 10px 16px; margin: 12px 0; font-weight: 600; }
.state p { margin: 0; } .state ul { margin: 4px 0 0; font-weight: 400; }
.state.good { background: var(--good-bg); color: var(--good); }
.state.bad { background: var(--bad-bg); color: var(--bad); }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 50%; background: currentColor; margin-right: 8px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); gap: 12px; padding: 0; margin: 12px 0; list-style: none; }
.cards .card { margin: 0; display: flex; flex-direction: column; }
.cards strong { font-size: 25px; line-height: 1.3; font-weight: 650; letter-spacing: -0.02em; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 12px; }
.plot { margin: 0; display: flex; flex-direction: column; }
.plot figcaption p { margin: 0; }
.plot svg { width: 100%; height: auto; margin-top: 4px; }
.plot text { font-size: 11px; fill: var(--soft); }
.grid { stroke: var(--grid); stroke-width: 1; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
.line0 { stroke: var(--one); } .line1 { stroke: var(--two); } .line2 { stroke: var(--three); }
.line3 { stroke: var(--four); } .line4 { stroke: var(--five); } .line5 { stroke: var(--soft); }
.legend { list-style: none; padding: 0; margin: 4px 0 0; display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 13px; }
.key { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 5px; background: var(--soft); }
.key0, .part0 { background: var(--one); fill: var(--one); } .key1, .part1 { background: var(--two); fill: var(--two); }
.key2, .part2 { background: var(--three); fill: var(--three); } .key3, .part3 { background: var(--four); fill: var(--four); }
.key4, .part4 { background: var(--five); fill: var(--five); } .part5 { fill: var(--soft); }
.bar { display: block; width: 100%; height: 12px; background: var(--grid); border-radius: 6px; margin: 4px 0 8px; }
.side { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 0 12px; align-items: start; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--edge); border-radius: 12px; margin: 8px 0; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { padding: 7px 14px; text-align: left; vertical-align: top; }
thead th { color: var(--soft); font-weight: 500; font-size: 12.5px; white-space: nowrap; }
tbody th { font-weight: 500; }
tbody tr { border-top: 1px solid var(--edge); }
th.figure, td.figure { text-align: right; white-space: nowrap; }
.client { overflow-wrap: anywhere; }
.badge { display: inline-block; border-radius: 999px; padding: 0 9px; font-size: 12.5px; line-height: 1.65; white-space: nowrap; }
.badge.good { color: var(--good); background: var(--good-bg); } .badge.bad { color: var(--bad); background: var(--bad-bg); }
.badge.warn { color: var(--warn); background: var(--warn-bg); } .badge.calm { color: var(--calm); background: var(--calm-bg); }
details { margin: 8px 0; } summary { cursor: pointer; padding: 4px 0; color: var(--soft); }
button {
  font: inherit; font-size: 13px; color: var(--ink); background: var(--card); border: 1px solid var(--edge);
  border-radius: 8px; padding: 5px 12px; cursor: pointer; min-height: 32px;
}
button:hover { border-color: var(--soft); }
button.yes { background: var(--warn-bg); color: var(--warn); border-color: currentColor; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }
body[data-objects] header .live { display: none; }
a { color: inherit; text-underline-offset: 2px; text-decoration-color: var(--soft); }
#objects h2 { margin-top: 8px; overflow-wrap: anywhere; } #objects h2:focus { outline: none; } #objects h3 { margin: 18px 0 4px; }
#objects-way { overflow-wrap: anywhere; } #objects-way li + li::before { content: "/"; margin-right: 16px; color: var(--soft); }
.tools { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center; margin: 8px 0; font-size: 13px; }
.tools label { display: inline-flex; gap: 6px; align-items: center; }
input { font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--soft); border-radius: 8px; padding: 4px 8px; max-width: 100%; }
input[type="checkbox"] { width: 18px; height: 18px; accent-color: var(--one); }
button.sort { border: 0; padding: 0; background: none; color: inherit; font-size: inherit; min-height: 24px; border-radius: 4px; }
[aria-sort] .sort::after { content: " \\2191"; } [aria-sort="descending"] .sort::after { content: " \\2193"; }
select { font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--soft); border-radius: 8px; padding: 4px 8px; max-width: 100%; }
#objects td a { white-space: nowrap; }
.groups, .related { display: flex; flex-wrap: wrap; gap: 6px; list-style: none; padding: 0; margin: 0; align-items: center; }
.groups button { border-radius: 999px; font-variant-numeric: tabular-nums; } .groups [aria-pressed="true"] { background: var(--calm-bg); border-color: var(--ink); font-weight: 600; }
.related { gap: 4px 18px; font-size: 13px; color: var(--soft); margin: 8px 0; } .related a { color: var(--ink); overflow-wrap: anywhere; }
button:disabled { color: var(--soft); cursor: default; border-color: var(--edge); }
#objects td, #objects tbody th { max-width: 46ch; overflow-wrap: break-word; }
#objects tbody th { min-width: 12em; overflow-wrap: anywhere; }
pre { background: var(--card); border: 1px solid var(--edge); border-radius: 12px; padding: 14px 16px; margin: 8px 0; overflow: auto; font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.changes { padding-left: 0; list-style: none; font-size: 13px; overflow-wrap: anywhere; } .changes > li { margin: 6px 0; } .changes ul { padding-left: 18px; margin: 0; }
del { color: var(--bad); } ins { color: var(--good); text-decoration: none; }
footer { padding-top: 26px; padding-bottom: 30px; }
@media (max-width: 560px) {
  header, main, footer { padding-left: 12px; padding-right: 12px; }
  .cards { grid-template-columns: repeat(2, 1fr); gap: 8px; }
  .cards strong { font-size: 20px; }
  th, td { padding: 6px 8px; }
  tbody th { overflow-wrap: anywhere; min-width: 10.5em; }
  .plots { grid-template-columns: 1fr; }
  .tools label { width: 100%; justify-content: space-between; } .tools label input:not([type="checkbox"]) { flex: 1; min-width: 0; max-width: 70%; }
  .tools label:has([type="checkbox"]) { justify-content: flex-start; }
}
`

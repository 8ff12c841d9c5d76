// The theme gives its dialog no name, which those need who do not see it.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search")

// The filter of the catalogue: rows that lack one of its words are hidden, and families of which none is left.
document.querySelectorAll("input.filter").forEach((input) => {
  const tables = [...input.closest("article").querySelectorAll("table")].map((table) => ({
    table: table.closest(".md-typeset__scrollwrap") || table,
    above: [],
    rows: [...table.querySelectorAll("tbody tr")],
  }))
  tables.forEach((one) => {
    for (let before = one.table.previousElementSibling; before && before.tagName !== "TABLE" && !before.matches(".md-typeset__scrollwrap, .filter, p:has(.filter)"); before = before.previousElementSibling) {
      one.above.push(before)
      if (before.tagName === "H2") break
    }
  })
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    tables.forEach(({ table, above, rows }) => {
      rows.forEach((row) => (row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word))))
      const none = rows.every((row) => row.hidden)
      ;[table, ...above].forEach((part) => (part.hidden = none))
    })
  })
})

-- What a person does in neovim, without one: open a program, wait for what is found, take the first action, look again.
-- Called with: SERVER's command as a JSON list in $DNNFIX_SERVER. Prints one JSON object.

local said = {}
local function ended(problem)
  said.problem = problem
  io.stdout:write(vim.fn.json_encode(said) .. "\n")
  vim.cmd("qa!")
end

local command = vim.fn.json_decode(vim.env.DNNFIX_SERVER)
local buffer = vim.api.nvim_get_current_buf()
local options = { name = "dnnfix", cmd = command, root_dir = vim.fn.getcwd() }
if vim.lsp.start then
  vim.lsp.start(options)
else -- before 0.8
  vim.lsp.buf_attach_client(buffer, vim.lsp.start_client(options))
end

local function found()
  return vim.diagnostic.get(buffer)
end

local function until_true(what, holds)
  if not vim.wait(tonumber(vim.env.PATIENCE) * 1000, holds, 20) then
    ended("waited in vain for " .. what)
  end
end

until_true("a diagnostic", function() return #found() > 0 end)
local first = found()[1]
said.code, said.source, said.line, said.column = first.code or first.user_data.lsp.code, first.source, first.lnum, first.col
said.end_column = first.end_col

local get = vim.lsp.get_clients or vim.lsp.get_active_clients
local client = get()[1]
local place = { line = first.lnum, character = 0 }
local asked = {
  textDocument = vim.lsp.util.make_text_document_params(buffer),
  range = { start = place, ["end"] = { line = first.lnum + 1, character = 0 } },
  context = { diagnostics = {} },
}
local answer = vim.lsp.buf_request_sync(buffer, "textDocument/codeAction", asked, tonumber(vim.env.PATIENCE) * 1000)
local action
for _, given in pairs(answer or {}) do
  for _, one in ipairs(given.result or {}) do
    action = action or (one.edit and one)
  end
end
if not action then
  ended("no action has an edit")
end
said.title = action.title
vim.lsp.util.apply_workspace_edit(action.edit, client.offset_encoding)
said.lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
until_true("the diagnostic to go", function() return #found() == 0 end)

vim.api.nvim_buf_set_lines(buffer, 3, 3, false, { "print('語')  # typed" })
vim.cmd("silent undo | silent undo")
until_true("the diagnostic to come back", function() return #found() == 1 end)
vim.cmd("silent write! again.py")
said.version = tostring(vim.version().major) .. "." .. tostring(vim.version().minor)
ended(nil)

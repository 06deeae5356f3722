-- Opens a broken manifest, shows what the language server reports, applies the fix, and saves. Runs in Neovim 0.7 and
-- later. tests/e2e/neovim.sh starts it with the environment variables MESHPROBE, FILE and SCREEN.

local file, screen = os.getenv('FILE'), assert(io.open(os.getenv('SCREEN'), 'w'))

local function fail(message)
  io.stderr:write(message .. '\n')
  vim.cmd('cquit 1')
end

local function show(title, lines)
  screen:write('== ' .. title .. '\n')
  for _, line in ipairs(lines) do
    screen:write(line .. '\n')
  end
end

local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then
    fail('timeout: ' .. what)
  end
end

vim.cmd('edit ' .. vim.fn.fnameescape(file))
local buffer = vim.api.nvim_get_current_buf()
local client = vim.lsp.start_client({
  name = 'meshprobe',
  cmd = { os.getenv('MESHPROBE'), 'lsp' },
  root_dir = vim.fn.fnamemodify(file, ':h'),
})
if not client then
  fail('the server did not start')
end
vim.lsp.buf_attach_client(buffer, client)

-- Sends a request about a line, and returns the answer.
local function request(method, params)
  params.textDocument = { uri = vim.uri_from_bufnr(buffer) }
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 60000)
  local answer = answers and answers[client]
  if not answer or answer.error then
    fail(method .. ': ' .. vim.inspect(answers))
  end
  return answer.result
end

local function line_of(pattern)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local column = line:find(pattern, 1, true)
    if column then
      return { line = number - 1, character = column - 1 }
    end
  end
  fail('no line contains ' .. pattern)
end

-- Diagnostics, as Neovim shows them at the end of the line.
wait('diagnostics', function() return #vim.diagnostic.get(buffer) > 0 end)
local shown = {}
for _, diagnostic in ipairs(vim.diagnostic.get(buffer)) do
  local text = vim.api.nvim_buf_get_lines(buffer, diagnostic.lnum, diagnostic.lnum + 1, false)[1]
  local message = vim.split(diagnostic.message, '\n')[1]
  table.insert(shown, ('%3d %s  ■ %s [%s]'):format(diagnostic.lnum + 1, text, message, diagnostic.code))
end
show('diagnostics', shown)

-- Hover, as Neovim formats it for its floating window.
local probe = line_of('readinessProbe')
local hover = request('textDocument/hover', { position = probe })
show('hover', vim.lsp.util.convert_input_to_markdown_lines(hover.contents))

-- Inlay hints and code lenses, as virtual text. Neovim 0.7 does not show hints itself.
local function hints(title)
  local last = vim.api.nvim_buf_line_count(buffer)
  local range = { start = { line = 0, character = 0 }, ['end'] = { line = last, character = 0 } }
  local lines = {}
  for _, lens in ipairs(request('textDocument/codeLens', {})) do
    table.insert(lines, ('%3d %s'):format(lens.range.start.line + 1, lens.command.title))
  end
  for _, hint in ipairs(request('textDocument/inlayHint', { range = range })) do
    local line = hint.position.line
    local text = vim.api.nvim_buf_get_lines(buffer, line, line + 1, false)[1]
    table.insert(lines, ('%3d %s  %s'):format(line + 1, text, hint.label))
  end
  show(title, lines)
end
hints('code lenses and inlay hints')

-- The fix, as the code action menu applies it.
local at = line_of('port: "8080"')
local context = { diagnostics = {} }
local actions = request('textDocument/codeAction', { range = { start = at, ['end'] = at }, context = context })
local titles = {}
local fix
for _, action in ipairs(actions) do
  table.insert(titles, action.title)
  if action.isPreferred then
    fix = action
  end
end
show('code actions', titles)
if not fix then
  fail('no action is preferred: ' .. vim.inspect(actions))
end
if not fix.edit then
  fix = vim.lsp.buf_request_sync(buffer, 'codeAction/resolve', fix, 60000)[client].result
end
vim.lsp.util.apply_workspace_edit(fix.edit, vim.lsp.get_client_by_id(client).offset_encoding)
vim.cmd('write')
show('saved', vim.api.nvim_buf_get_lines(buffer, 0, -1, false))
hints('code lenses and inlay hints after the fix')

screen:close()
vim.lsp.stop_client(client)
vim.cmd('quitall!')

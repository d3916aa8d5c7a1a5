package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/llm/price"
)

// An Account is somebody who may ask, known by a token.
type Account struct {
	Name   string            // in logs
	Token  [sha256.Size]byte // the SHA-256 of it
	Budget *price.USD        // what its calls may cost until the service ends; nil for no limit
	Models []string          // those that it may ask; nil for all
	// Operator sees the metrics of all accounts, others their own.
	Operator bool
}

// HashToken is what an Account holds of a token. One that can be guessed is an
// error.
func HashToken(token string) (sum [sha256.Size]byte, err error) {
	if len(token) < minTokenLen {
		return sum, fmt.Errorf("a token has at least %d characters", minTokenLen)
	}
	return sha256.Sum256([]byte(token)), nil
}

// NewToken makes a token.
func NewToken() string {
	b := make([]byte, 24)
	rand.Read(b) // it never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

var accountName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// ReadAccounts reads a file of accounts in YAML:
//
//	tokens:
//	  - name: alice
//	    sha256: 5e88…   # or token: the token itself
//	    budget: 5       # dollars
//	    models: [fast]
//	    operator: true
func ReadAccounts(path string) ([]Account, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	accounts, err := parseAccounts(text)
	if err != nil {
		return nil, fmt.Errorf("tokens: %s: %w", path, err)
	}
	return accounts, nil
}

func parseAccounts(text []byte) ([]Account, error) {
	var file struct {
		Tokens []struct {
			Name     string   `yaml:"name"`
			Token    string   `yaml:"token"`
			SHA256   string   `yaml:"sha256"`
			Budget   *float64 `yaml:"budget"`
			Models   []string `yaml:"models"`
			Operator bool     `yaml:"operator"`
		} `yaml:"tokens"`
	}
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, false)) // without the lines, which hold tokens
	}
	if len(file.Tokens) == 0 {
		return nil, errors.New("it lists no token")
	}
	var accounts []Account
	for i, t := range file.Tokens {
		a := Account{Name: t.Name, Models: t.Models, Operator: t.Operator}
		var err error
		switch sum, notHex := hex.DecodeString(t.SHA256); {
		case (t.Token == "") == (t.SHA256 == ""):
			err = errors.New("it has either token or sha256")
		case t.Token != "":
			a.Token, err = HashToken(t.Token)
		case notHex != nil || len(sum) != sha256.Size:
			err = errors.New("sha256 is 64 hexadecimal digits")
		default:
			a.Token = [sha256.Size]byte(sum)
		}
		if err != nil {
			return nil, fmt.Errorf("token %d (%s): %w", i+1, t.Name, err)
		}
		if t.Budget != nil {
			usd, ok := price.FromDollars(*t.Budget)
			if !ok {
				return nil, fmt.Errorf("token %d (%s): budget %v: it is a sum from 0 to a million dollars", i+1, t.Name, *t.Budget)
			}
			a.Budget = &usd
		}
		accounts = append(accounts, a)
	}
	return accounts, nil
}

// An account is an Account with what is kept apart for it.
type account struct {
	Account
	budget *price.Budget
	models []*opened // those that it may ask; the first is its default
	rules  *opened   // no model
	secret []byte    // for check entries
	keep   Recorder
	turns  turns
}

// opened is a model of one account.
type opened struct {
	Model
	model   audit.Model
	session *audit.Session // verdicts of before; the auditor is another for each request
}

func (s *Service) openAccounts(list []Account) error {
	for i, a := range list {
		switch {
		case !accountName.MatchString(a.Name):
			return fmt.Errorf("serve: the token's name %q: it has letters, digits, - and _, at most 64", a.Name)
		case slices.ContainsFunc(list[:i], func(b Account) bool { return b.Name == a.Name || b.Token == a.Token }):
			return fmt.Errorf("serve: %s: two tokens have the same name or are the same", a.Name)
		}
		opened, err := s.open(a)
		if err != nil {
			return err
		}
		s.accounts = append(s.accounts, opened)
	}
	return nil
}

func (s *Service) open(a Account) (*account, error) {
	out := &account{Account: a, budget: price.NewBudget(a.Budget), secret: make([]byte, 32), turns: newTurns(s.options.Limits.AuditsEach)}
	rand.Read(out.secret)
	for _, name := range a.Models {
		if !slices.ContainsFunc(s.options.Models, func(m Model) bool { return m.Name == name }) {
			return nil, fmt.Errorf("serve: the token %s may ask the model %q, which is not listed", a.Name, name)
		}
	}
	for _, m := range s.options.Models {
		if a.Models != nil && !slices.Contains(a.Models, m.Name) {
			continue
		}
		model, err := m.Open(out.budget)
		if err != nil {
			return nil, err
		}
		out.models = append(out.models, &opened{m, model, s.session()})
	}
	out.rules = &opened{Model{Name: noModel}, nil, s.session()}
	if s.options.Keep != nil {
		keep, err := s.options.Keep(a.Name)
		if err != nil {
			return nil, err
		}
		out.keep = keep
	}
	return out, nil
}

// maxCached is about how many verdicts all accounts together keep.
const maxCached = 1_000_000

// session returns an empty memory of verdicts, for auditors to come.
func (s *Service) session() *audit.Session {
	all := max(1, len(s.options.Accounts)) * (1 + len(s.options.Models))
	return audit.NewSession(nil, max(1, min(s.options.Limits.Cache, maxCached/all)))
}

// holder returns the account with a token, nil for none. How long it takes does
// not depend on the tokens.
func (s *Service) holder(token string) (found *account) {
	sum := sha256.Sum256([]byte(token))
	for _, a := range s.accounts {
		if subtle.ConstantTimeCompare(sum[:], a.Token[:]) == 1 {
			found = a
		}
	}
	return found
}

// noModel is the name of nobody: rules alone judge then.
const noModel = "none"

// model returns one that the account may ask; "" is its first.
func (a *account) model(name string) (*opened, error) {
	for _, m := range append(slices.Clip(a.models), a.rules) {
		if name == "" || m.Name == name {
			return m, nil
		}
	}
	names := make([]string, len(a.models))
	for i, m := range a.models {
		names[i] = m.Name
	}
	return nil, failf(http.StatusUnprocessableEntity, "no model is called %q here; there are %q, and %s for rules alone", name, names, noModel)
}
